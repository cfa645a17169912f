import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { landBars, stageBars } from "../../src/lake/land/land-bars.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import { type DataFile, emptySnapshot, type Snapshot } from "../../src/lake/log/snapshot.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { openReader } from "../../src/lake/open-reader.js";
import { viewBranches } from "../../src/lake/viewed-table.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { EXCHANGES } from "../../src/schema/reference.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { once } from "../once.js";
import { pickCases } from "../sweep.js";
import { FINAL, openSession, T0, temporaryLake } from "./temporary-lake.js";

/** The cost of a query. */
interface Cost {
  readonly files: number;
  readonly rowGroups: number;
}

interface PlanNode {
  readonly operator_name?: string;
  readonly operator_row_groups_scanned?: number;
  readonly extra_info?: Readonly<Record<string, unknown>>;
  readonly children?: readonly PlanNode[];
}

/** Numbers of files that a query opens and of row groups that it reads, as DuckDB counts them during the query. */
async function costOf(session: Session, sql: string): Promise<Cost> {
  await session.run("SET enable_profiling = 'no_output'");
  await session.run(
    `SET custom_profiling_settings = '{"OPERATOR_NAME": "true", "EXTRA_INFO": "true", "OPERATOR_ROW_GROUPS_SCANNED": "true"}'`,
  );
  const [plan] = await session.json<{ explain_value: string }>(`EXPLAIN (ANALYZE, FORMAT json) ${sql}`);
  const scans = scansOf(JSON.parse(plan?.explain_value ?? "{}") as PlanNode);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    files: sum(scans.map((scan) => Number(scan.extra_info?.["Total Files Read"]))),
    rowGroups: sum(scans.map((scan) => Number(scan.operator_row_groups_scanned))),
  };
}

function scansOf(node: PlanNode): PlanNode[] {
  const own = node.operator_name?.trim() === "READ_PARQUET" ? [node] : [];
  return [...own, ...(node.children ?? []).flatMap(scansOf)];
}

/** Lands minute bars of Shanghai from the 10th of each month on, `minutes` per symbol and month. */
async function landMonths(
  session: Session,
  lake: Lake,
  { months, symbols, minutes, first }: { months: number; symbols: number; minutes: number; first: number },
): Promise<void> {
  await stageBars(session, "minutes");
  await session.run(
    `INSERT INTO minutes (symbol, timestamp, open, high, low, close, volume, amount, lot, source, line)
     SELECT (${600_000 + first} + s) || '.SH', start + INTERVAL (i) MINUTE, price, price, price, price,
       hash(i, s, 1) % 1000000, price, 1, 'test', i
     FROM (SELECT s, i, TIMESTAMPTZ '2025-01-10 01:31:00Z' + INTERVAL (m) MONTH AS start, hash(i, s, m) / 1e12 AS price
       FROM range(${months}) a(m), range(${symbols}) b(s), range(${minutes}) c(i))`,
  );
  const options = { operation: "TEST", runId: "test", now: T0, finalEnd: FINAL };
  await landBars(session, lake, BARS_1M, "minutes", { ...options, rejects: new Rejects(session, "test") });
}

async function readerOf(lake: Lake): Promise<Session> {
  const { session } = await openReader(lake, { statement: "bars_1m, bars_1d" });
  onTestFinished(() => session.close());
  return session;
}

/** A year in twelve partitions of several files each, compacted; the tests only read it. */
const compacted = new Lake(mkdtempSync(join(tmpdir(), "barlake-")), { hasDatabase: false });

beforeAll(async () => {
  using session = await Session.open();
  for (const first of [0, 4, 8, 12])
    await landMonths(session, compacted, { months: 12, symbols: 4, minutes: 200, first });
  await landMonths(session, compacted, { months: 12, symbols: 16, minutes: 100, first: 100 });
  await optimize(session, compacted, BARS_1M, { runId: "test", targetBytes: 30_000 }, virtualClock(T0));
});

afterAll(() => rmSync(compacted.location, { recursive: true, force: true }));

once(
  "one symbol's month out of a compacted year opens the files of that month alone, however it is asked for",
  async () => {
    const files = [...(await compacted.snapshot(BARS_1M)).files.values()];
    const june = files.filter((file) => file.partitionValues.month === "2025-06-01");
    expect(new Set(files.map((file) => file.partitionValues.month)).size).toBe(12);
    expect(june.length).toBeGreaterThanOrEqual(3);
    const session = await readerOf(compacted);
    const expected =
      "SELECT count(*) AS n, min(trade_date)::VARCHAR AS day FROM bars_1m WHERE symbol = '600005.SH'";
    for (const range of [
      "trade_date BETWEEN '2025-06-01' AND '2025-06-30'",
      "trade_date >= '2025-06-01' AND trade_date < '2025-07-01'",
      "trade_date = '2025-06-10'",
      "timestamp >= '2025-06-01' AND timestamp < '2025-07-01'",
      "timestamp BETWEEN TIMESTAMPTZ '2025-06-10 09:30:00+08' AND TIMESTAMPTZ '2025-06-10 15:00:00+08'",
      "month = '2025-06-01'",
    ]) {
      const sql = `${expected} AND ${range}`;
      expect(await session.json(sql), range).toEqual([{ n: 200n, day: "2025-06-10" }]);
      const cost = await costOf(session, sql);
      expect(cost, range).toEqual({ files: june.length, rowGroups: 1 });
    }
    expect((await costOf(session, expected)).files).toBe(files.length);
  },
);

test("of a large file, one symbol's month reads one row group or two", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await landMonths(session, lake, { months: 1, symbols: 60, minutes: 5000, first: 0 });
  const reader = await readerOf(lake);
  const sql = (symbol: string): string => `SELECT sum(close) FROM bars_1m WHERE symbol = '${symbol}'`;
  expect((await costOf(reader, "SELECT sum(close) FROM bars_1m")).rowGroups).toBe(3);
  const found: number[] = [];
  for (const n of pickCases(60, { few: 3, more: 20, all: 60 })) {
    const { rowGroups } = await costOf(reader, sql(`${600_000 + n}.SH`));
    found.push(rowGroups);
  }
  expect(Math.max(...found)).toBeLessThanOrEqual(2);
  expect(found.filter((rowGroups) => rowGroups === 2).length).toBeLessThanOrEqual(2);
});

once("the rows of a view with branches are those of its files", async () => {
  const session = await readerOf(compacted);
  const [view] = await session.json<{ sql: string }>(
    "SELECT sql FROM duckdb_views() WHERE schema_name = 'raw' AND view_name = 'bars_1m'",
  );
  expect(view?.sql).toContain("UNION ALL");
  const { files } = await compacted.snapshot(BARS_1M);
  const rows = [...files.values()].reduce((sum, { stats }) => sum + (stats?.numRecords ?? 0), 0);
  const [counted] = await session.json(
    "SELECT count(*) AS n, count(DISTINCT (symbol, timestamp)) AS keys FROM bars_1m",
  );
  expect(counted).toEqual({ n: BigInt(rows), keys: BigInt(rows) });
  const [type] = await session.json<{ column_type: string }>(
    "SELECT typeof(month) AS column_type FROM bars_1m LIMIT 1",
  );
  expect(type).toEqual({ column_type: "DATE" });
});

const HOUR = 3_600_000;

/** A file of a month or year, with statistics of six hours by default. */
function fileOf(
  partition: string,
  value: string | null,
  n = 0,
  stats: DataFile["stats"] | null = null,
): DataFile {
  const at = Date.parse(value?.length === 4 ? `${value}-03-02` : (value ?? "2025-01-01")) + n * 24 * HOUR;
  const range = { minValues: { timestamp: iso(at) }, maxValues: { timestamp: iso(at + 6 * HOUR) } };
  const path = `region=CN/${partition}=${value}/p-0123456789abcdef-${String(n).padStart(8, "0")}.parquet`;
  const partitionValues = { region: "CN", [partition]: value };
  return {
    path,
    partitionValues,
    size: 1,
    writtenAt: 0,
    stats: stats === null ? { numRecords: 1, ...range } : stats,
  };
}

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

function snapshotOf(files: readonly DataFile[], table = BARS_1M): Snapshot {
  return { ...emptySnapshot(table), files: new Map(files.map((file) => [file.path, file])) };
}

const months = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => new Date(Date.UTC(2015, n)).toISOString().slice(0, 10));

once("few files, and tables without a time, have one list", () => {
  const month = (value: string): DataFile[] => Array.from({ length: 5 }, (_, n) => fileOf("month", value, n));
  expect(viewBranches(snapshotOf(months(6).flatMap(month)))).toBeUndefined();
  expect(viewBranches(snapshotOf(months(7).flatMap(month)))).toHaveLength(7);
  expect(viewBranches(snapshotOf(months(7).flatMap(month), EXCHANGES))).toBeUndefined();
  const one = Array.from({ length: 99 }, (_, n) => fileOf("month", "2025-01-01", n));
  expect(viewBranches(snapshotOf(one))).toBeUndefined();
  // In a store it takes requests to open a file. Of few files the branches have conditions on dates alone.
  const few = snapshotOf(months(2).flatMap(month));
  expect(viewBranches(few, true)?.map(({ where }) => where?.includes('"timestamp"'))).toEqual([false, false]);
  const many = snapshotOf(months(7).flatMap(month));
  expect(viewBranches(many, true)?.every(({ where }) => where?.includes('"timestamp"'))).toBe(true);
});

once("a branch says in which days and instants its rows lie", () => {
  const files = ["2024", "2025"].flatMap((year) =>
    Array.from({ length: 20 }, (_, n) => fileOf("year", year, n)),
  );
  const [first, second] = viewBranches(snapshotOf(files, BARS_1D)) ?? [];
  expect(first?.files).toHaveLength(20);
  expect(first?.where).toBe(
    `"trade_date" >= DATE '2024-01-01' AND "trade_date" < DATE '2025-01-01' AND ` +
      `"timestamp" >= TIMESTAMPTZ '2024-03-02T00:00:00.000Z' AND "timestamp" < TIMESTAMPTZ '2024-03-21T06:00:00.001Z'`,
  );
  expect(second?.where).toMatch(/^"trade_date" >= DATE '2025-01-01' AND "trade_date" < DATE '2026-01-01'/);
});

once("many partitions share branches, in order, and every file is in one", () => {
  const files = months(130).flatMap((value) => [fileOf("month", value, 0), fileOf("month", value, 1)]);
  const branches = viewBranches(snapshotOf([...files].reverse())) ?? [];
  expect(branches.length).toBeLessThanOrEqual(24);
  expect(branches.flatMap((branch) => branch.files.map(({ path }) => path)).sort()).toEqual(
    files.map(({ path }) => path).sort(),
  );
  const bounds = branches.map(({ where = "" }) => where.match(/'\d{4}-\d{2}-\d{2}'/g));
  for (const [n, bound] of bounds.slice(1).entries()) expect(bound?.[0]).toBe(bounds[n]?.[1]);
});

once("what is not known bounds nothing: null and strange partitions, and files without statistics", () => {
  const known = months(10).flatMap((value) => Array.from({ length: 4 }, (_, n) => fileOf("month", value, n)));
  const strange = [fileOf("month", null), fileOf("month", "soon"), fileOf("month", "2015-01-02")];
  const branches = viewBranches(snapshotOf([...known, ...strange])) ?? [];
  expect(branches).toHaveLength(11);
  expect(branches.at(-1)).toEqual({ files: strange, where: undefined });

  const blind = fileOf("month", "2015-01-01", 9, { numRecords: 1 });
  const [first] = viewBranches(snapshotOf([...known, blind])) ?? [];
  expect(first?.files).toHaveLength(5);
  expect(first?.where).toBe(`"trade_date" >= DATE '2015-01-01' AND "trade_date" < DATE '2015-02-01'`);
});

once("of a file of another program the statistics must show that its rows are within its partition", () => {
  const own = months(10).flatMap((value) => Array.from({ length: 4 }, (_, n) => fileOf("month", value, n)));
  const foreign = (min: string, max: string, nulls?: number): DataFile => ({
    ...fileOf("month", "2015-01-01"),
    path: `region=CN/month=2015-01-01/part-${min}-${max}-${nulls}.parquet`,
    stats: {
      numRecords: 2,
      minValues: { trade_date: min },
      maxValues: { trade_date: max },
      ...(nulls !== undefined && { nullCount: { trade_date: nulls } }),
    },
  });
  const within = foreign("2015-01-02", "2015-01-31", 0);
  const elsewhere = [
    foreign("2014-12-31", "2015-01-31", 0),
    foreign("2015-01-02", "2015-02-01", 0),
    foreign("2015-01-02", "2015-01-31", 1),
    foreign("2015-01-02", "2015-01-31"),
    { ...fileOf("month", "2015-01-01"), path: "part-0.parquet" },
  ];
  const branches = viewBranches(snapshotOf([...own, within, ...elsewhere])) ?? [];
  expect(branches[0]?.files.at(-1)).toBe(within);
  expect(branches.at(-1)).toEqual({ files: elsewhere, where: undefined });
});
