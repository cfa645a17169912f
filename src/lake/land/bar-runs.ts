import { int64At, int64Words } from "../../core/int64-words.js";
import { lowerBound } from "../../core/lower-bound.js";
import { calendarSpans } from "../../market/calendar-spans.js";
import { REGIONS } from "../../market/regions.js";
import type { BarPartition } from "../../plan/bar-partitions.js";
import type { DoubleColumn } from "../../wire/kline-columns.js";
import { oneRun, RunBuilder, type Runs } from "../files/parquet/runs.js";

/** Rows that a run must have on average: shorter ones take more bytes than values that are compressed. */
const LEAST_ROWS = 16;

/**
 * The columns of a partition's bars that consist of runs, by name: the lot and the columns that were not delivered, and
 * the symbol and the trading date where a symbol, or a day of it, has many bars.
 *
 * @param absent the columns that are null in all bars.
 */
export function runsOfBars(
  partition: BarPartition,
  absent: readonly DoubleColumn[],
): ReadonlyMap<string, Runs> {
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
