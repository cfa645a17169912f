import { barScan, bitsOf } from "../../arrow/scan/bar-scan.js";
import type { Scan } from "../../arrow/scan/table-scan.js";
import { int64At, int64Words, isAllNull } from "../../core/bits.js";
import { lowerBound } from "../../core/lower-bound.js";
import { regionSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { REGIONS } from "../../market/regions.js";
import { possibleEnds } from "../../market/sessions.js";
import { calendarSpans } from "../../market/trading-calendar.js";
import {
  type BarPartition,
  type BarsPlanOptions,
  partitionBars,
  type RejectedSegment,
} from "../../plan/bar-partitions.js";
import { statedValues } from "../../plan/stated-values.js";
import { DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import type { BarSegment, DeliveredBars } from "../../wire/bar-segment.js";
import { DOUBLE_COLUMNS, type DoubleColumn } from "../../wire/kline-columns.js";
import { oneRun, RunBuilder, type Runs } from "../files/parquet/run-chunk.js";
import { columnsOfScan, ROW_GROUP_ROWS, type ScanLayout } from "../files/parquet/write-rows.js";
import type { Lake } from "../lake.js";
import { remarkUnstated } from "./clear-values.js";
import { brokenRuleSql, isMinutes, type LandBarsOptions, rejectBroken, rejectRepeats } from "./land-bars.js";
import type { StagedPartition } from "./staged-rows.js";
import { type LandReport, upsert } from "./upsert.js";

/** Rows that a run must have on average: shorter ones take more bytes than values that are compressed. */
const LEAST_ROWS = 16;

/**
 * The columns of a partition's bars that consist of runs, by name: the lot and the columns that were not delivered, and
 * the symbol and the trading date where a symbol, or a day of it, has many bars.
 *
 * @param absent the columns that are null in all bars.
 */
function runsOfBars(partition: BarPartition, absent: readonly DoubleColumn[]): ReadonlyMap<string, Runs> {
  const { region, rows } = partition;
  const long = { symbol: symbolRuns(partition), trade_date: dateRuns(partition) };
  return new Map<string, Runs>([
    ...Object.entries(long).filter((entry): entry is [string, Runs] => entry[1] !== undefined),
    ["lot", oneRun(REGIONS[region].lot, rows)],
    ...absent.map((name) => [name, oneRun(null, rows)] as const),
  ]);
}

function symbolRuns({ segments, rows }: BarPartition): Runs | undefined {
  const runs = new RunBuilder();
  for (const { symbol, start, end } of segments) runs.add(symbol, end - start);
  return runs.ends.length * LEAST_ROWS > rows ? undefined : runs;
}

/** The dates in the zone of the exchange, in days since 1970-01-01. */
function dateRuns({ region, segments, rows }: BarPartition): Runs | undefined {
  const dayOf = calendarSpans(REGIONS[region].zone, "day");
  const runs = new RunBuilder();
  for (const { columns, start, end } of segments) {
    const times = int64Words(columns.timestamp);
    for (let row = start; row < end; ) {
      const day = dayOf(int64At(times, row));
      const next = lowerBound(row, end, (at) => int64At(times, at) >= day.end);
      runs.add(day.epochDay, next - row);
      row = next;
    }
    if (runs.ends.length * LEAST_ROWS > rows) return undefined;
  }
  return runs;
}

/**
 * Lands decoded bars directly from their columns, as {@link landBars} lands those of a table: adds bars that break a
 * rule to the rejects, and merges the rest. Volumes are in the region's unit, as a service delivers them. A bar that is
 * in two deliveries with the same values counts as unchanged the second time.
 *
 * @param deliveries in the order in which they arrived; their buffers must not change until the promise resolves.
 */
export async function landKlines(
  session: Session,
  lake: Lake,
  table: TableSchema,
  deliveries: readonly DeliveredBars[],
  options: LandBarsOptions,
): Promise<LandReport> {
  const stated = await withoutUnstated(table, deliveries, options);
  const { partitions, rejected, repeats, equal } = partitionBars(stated, planOptions(table, options));
  const scans: Scan[] = [];
  const scanOf = (segments: readonly BarSegment[]): string => {
    const scan = session.scan(barScan(segments, ROW_GROUP_ROWS));
    scans.push(scan);
    return scan.sql;
  };
  try {
    await reject(session, table, rejected, options);
    if (repeats.length > 0) await rejectRepeats(options.rejects, table, repeatsSql(scanOf(repeats)));
    const staged = partitions.map((partition) =>
      stagedPartition(table, partition, scanOf(partition.segments)),
    );
    const columns = new Map(table.columns.map(({ name, type }) => [name, DUCKDB_TYPE[type]]));
    const from = `(${staged.map((partition) => `FROM ${partition.from}`).join(" UNION ALL ")})`;
    const bounds = scanOf(partitions.flatMap(({ segments }) => segments.flatMap(endBarsOf)));
    const report = await upsert(session, lake, table, { columns, from, bounds, partitions: staged }, options);
    return { ...report, unchanged: report.unchanged + equal };
  } finally {
    for (const scan of scans) scan.release();
  }
}

/**
 * Adds the bars that break a rule to the rejects, and lands nothing. It is for deliveries that have landed already,
 * whose rejects may not have been recorded.
 */
export async function rejectAgain(
  session: Session,
  table: TableSchema,
  deliveries: readonly DeliveredBars[],
  options: LandBarsOptions,
): Promise<void> {
  const { rejected } = partitionBars(
    deliveries.map((one) => ({ ...one, columns: statedValues(one.columns).columns })),
    planOptions(table, options),
  );
  await reject(session, table, rejected, options);
}

function planOptions(table: TableSchema, options: LandBarsOptions): BarsPlanOptions {
  const isMinute = isMinutes(table);
  return {
    unit: isMinute ? "month" : "year",
    finalEnd: options.finalEnd,
    possibleEnd: possibleEnds(options.marketNow ?? options.now, isMinute),
  };
}

/** The deliveries with null for values that state nothing, each of which is a remark among the rejects. */
async function withoutUnstated(
  table: TableSchema,
  deliveries: readonly DeliveredBars[],
  { rejects }: LandBarsOptions,
): Promise<DeliveredBars[]> {
  const stated: DeliveredBars[] = [];
  for (const delivered of deliveries) {
    const { columns, unstated } = statedValues(delivered.columns);
    await remarkUnstated(rejects, table, delivered, unstated);
    stated.push({ ...delivered, columns });
  }
  return stated;
}

async function reject(
  session: Session,
  table: TableSchema,
  rejected: readonly RejectedSegment[],
  { rejects, onRejected, now, marketNow = now }: LandBarsOptions,
): Promise<void> {
  if (rejected.length === 0) return;
  onRejected?.(rejected);
  const scan = session.scan(barScan(rejected, ROW_GROUP_ROWS));
  const rules = { now: marketNow, table };
  const bars = `SELECT * EXCLUDE (trade_date), ${regionSql("symbol")} AS region, CAST(NULL AS BIGINT) AS line FROM ${scan.sql}`;
  try {
    await rejectBroken(rejects, rules, `(SELECT *, ${brokenRuleSql(rules)} AS rule FROM (${bars}))`);
  } finally {
    scan.release();
  }
}

function repeatsSql(scan: string): string {
  return `(SELECT *, CAST(NULL AS BIGINT) AS line FROM ${scan})`;
}

/** The first and the last bar of a segment, as segments. */
function endBarsOf(segment: BarSegment): BarSegment[] {
  const { start, end } = segment;
  if (end - start <= 2) return [segment];
  return [
    { ...segment, end: start + 1 },
    { ...segment, start: end - 1 },
  ];
}

function stagedPartition(table: TableSchema, partition: BarPartition, scan: string): StagedPartition {
  const { region, period, segments, rows, first, last } = partition;
  const texts: Readonly<Record<string, string>> = {
    region,
    month: period.first,
    year: String(Number(period.first.slice(0, 4))),
  };
  const values = Object.fromEntries(table.partition.map((name) => [name, texts[name] as string]));
  const absent = absentColumns(segments);
  const constants = new Map([
    ...Object.entries(values).map(([name, value]) => [name, literal(value)] as const),
    ...constantsOf(partition, absent),
  ]);
  const columns = table.columns.map(({ name, type }) => {
    const constant = constants.get(name);
    return constant === undefined
      ? ident(name)
      : `CAST(${constant} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`;
  });
  const layout: ScanLayout = {
    runs: runsOfBars(partition, absent),
    // All columns, because the partitions of a landing are read together and must have the same.
    bits: new Map(DOUBLE_COLUMNS.map((name) => [name, bitsOf(name)])),
  };
  const textOf = (ms: number): string => new Date(ms).toISOString();
  return {
    values,
    rows,
    min: { symbol: segments[0]?.symbol ?? "", timestamp: textOf(first) },
    max: { symbol: segments.at(-1)?.symbol ?? "", timestamp: textOf(last) },
    from: `(SELECT ${[...columns, ...columnsOfScan(layout).map(ident)].join(", ")} FROM ${scan})`,
    layout,
  };
}

/**
 * SQL of the columns that have the same value in a whole partition, by name: DuckDB need not read them for each bar.
 */
function constantsOf(
  { region, segments }: BarPartition,
  absent: readonly DoubleColumn[],
): Map<string, string> {
  const constants = new Map([["lot", String(REGIONS[region].lot)]]);
  const [isFinal, isOther] = new Set(segments.map((segment) => segment.isFinal));
  if (isOther === undefined) constants.set("is_final", String(isFinal));
  for (const name of absent) constants.set(name, "NULL");
  return constants;
}

/** The columns that are null in all bars of the deliveries. */
function absentColumns(segments: readonly BarSegment[]): DoubleColumn[] {
  const delivered = [...new Set(segments.map(({ columns }) => columns))];
  return DOUBLE_COLUMNS.filter((name) =>
    delivered.every(({ rows, doubles }) => {
      const { validity } = doubles[name];
      return validity !== undefined && isAllNull(validity, rows);
    }),
  );
}
