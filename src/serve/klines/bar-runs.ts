import type { ResultColumn, ResultColumns } from "../../arrow/scan/result-columns.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  type NumberColumn,
} from "../../wire/kline-columns.js";
import type { KLINE_SHAPE } from "./klines-sql.js";

/** Bars as a query gives them: ascending by position, then timestamp. */
export type KlineRows = ResultColumns<typeof KLINE_SHAPE>;

/** The bars of one symbol: rows `start` to `end` (exclusive) of a query's. */
export interface BarRun {
  readonly rows: KlineRows;
  readonly start: number;
  readonly end: number;
  /** Rows that the query had of the symbol, those before `start` included. */
  readonly found: number;
}

/**
 * Finds each symbol's newest `count` bars in a query's rows.
 *
 * @param symbols what the rows' positions count in.
 */
export function runsOf(rows: KlineRows, symbols: readonly string[], count: number): Map<string, BarRun> {
  const runs = new Map<string, BarRun>();
  const position = rows.columns.position.values;
  for (let first = 0, end = 0; first < rows.rows; first = end) {
    while (end < rows.rows && position[end] === position[first]) end += 1;
    const found = end - first;
    runs.set(symbols[position[first] as number] as string, {
      rows,
      start: Math.max(first, end - count),
      end,
      found,
    });
  }
  return runs;
}

/** Puts the runs of symbols behind one another, in the symbols' order; a symbol without a run has no rows. */
export function joinRuns(symbols: readonly string[], runs: ReadonlyMap<string, BarRun>): KlineColumns {
  const parts = symbols.map((symbol) => runs.get(symbol));
  const rows = parts.reduce((sum, run) => sum + (run ? run.end - run.start : 0), 0);
  const symbolIndex = new Int32Array(rows);
  const timestamp = new BigInt64Array(rows);
  const volume = new BigInt64Array(rows);
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [
      name,
      { values: new Float64Array(rows), validity: joinedValidity(name, parts, rows) },
    ]),
  ) as Record<DoubleColumn, NumberColumn>;
  let at = 0;
  for (const [index, run] of parts.entries()) {
    if (run === undefined) continue;
    const {
      rows: { columns },
      start,
      end,
    } = run;
    symbolIndex.fill(index, at, at + end - start);
    timestamp.set(columns.timestamp.values.subarray(start, end), at);
    volume.set(columns.volume.values.subarray(start, end), at);
    for (const name of DOUBLE_COLUMNS)
      doubles[name].values.set(columns[name].values.subarray(start, end), at);
    at += end - start;
  }
  return { rows, symbols, symbolIndex, timestamp, volume, doubles };
}

function joinedValidity(
  name: DoubleColumn,
  parts: readonly (BarRun | undefined)[],
  rows: number,
): Uint8Array | undefined {
  if (parts.every((run) => run === undefined || run.rows.columns[name].validity === undefined))
    return undefined;
  const joined = new Uint8Array(Math.ceil(rows / 8));
  let at = 0;
  for (const run of parts) {
    if (run === undefined) continue;
    const { validity }: ResultColumn<"double"> = run.rows.columns[name];
    for (let row = run.start; row < run.end; row++, at++) {
      const isPresent = validity === undefined || ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0;
      if (isPresent) joined[at >> 3] = (joined[at >> 3] as number) | (1 << (at & 7));
    }
  }
  return joined;
}
