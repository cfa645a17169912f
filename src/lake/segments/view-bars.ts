import type { RecordBatch } from "apache-arrow";
import { type BatchColumn, columnBatch, type TextRun } from "../../arrow/column-batch.js";
import { int64At, int64Words, putBit, setInt64 } from "../../core/bits.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { BARS_1D } from "../../schema/bars.js";
import { columnOf, type TableSchema } from "../../schema/column.js";
import { columnIn, hasUnits } from "./adjust-bars.js";
import type { Bars, BarsRun } from "./block.js";

/**
 * The columns of the views `bars_1d` and `bars_1m`, in their order, and the stored columns that each is computed from.
 * The SQL of the views defines them; a test compares all of them.
 */
const VIEW_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  symbol: [],
  trade_date: ["trade_date"],
  timestamp: ["timestamp"],
  open: ["open"],
  high: ["high"],
  low: ["low"],
  close: ["close"],
  volume: ["volume"],
  amount: ["amount"],
  prev_close: ["prev_close"],
  open_interest: ["open_interest"],
  settlement_price: ["settlement_price"],
  lot: ["lot"],
  shares: ["volume", "lot"],
  vwap: ["volume", "lot", "amount"],
  is_final: ["is_final"],
  region: [],
};

export function viewColumns({ partition }: TableSchema): readonly string[] {
  return [...Object.keys(VIEW_COLUMNS), ...partition.filter((name) => name !== "region")];
}

export function storedColumns(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.flatMap((name) => VIEW_COLUMNS[name] ?? []));
}

/** Bars as rows of the view, as a query of it gives them. @param names of the view's columns. */
export function viewBars(table: TableSchema, bars: Bars, names: readonly string[]): RecordBatch {
  return columnBatch(
    names.map((name) => viewColumn(table, bars, name)),
    bars.rows,
  );
}

/** A column of the view. @param bars must have the stored columns that it is computed from. */
function viewColumn(table: TableSchema, bars: Bars, name: string): BatchColumn {
  if (name === "symbol") return { name, kind: "runs", runs: joined(bars.runs, ({ symbol }) => symbol) };
  if (name === "region") return { name, kind: "runs", runs: joined(bars.runs, ({ region }) => region) };
  if (name === "shares") return { name, kind: "int64", values: sharesOf(bars) };
  if (name === "vwap") return { name, kind: "double", ...vwapOf(bars) };
  if (table.partition.includes(name)) {
    const values = eachRun(bars, ({ partition }) => partition);
    return table.span?.unit === "year" ? { name, kind: "int32", values } : { name, kind: "date", values };
  }
  const { buffer, validity } = columnIn(bars, name);
  const { rows } = bars;
  const { type } = columnOf(BARS_1D, name);
  switch (type) {
    case "double":
      return { name, kind: "double", values: new Float64Array(buffer, 0, rows), validity };
    case "int64":
      return { name, kind: "int64", values: new BigInt64Array(buffer, 0, rows), validity };
    case "timestamp":
      return { name, kind: "microseconds", values: new BigInt64Array(buffer, 0, rows), validity };
    case "date":
      return { name, kind: "date", values: new Int32Array(buffer, 0, rows), validity };
    case "boolean":
      return { name, kind: "boolean", values: new Int32Array(buffer, 0, rows), validity };
    case "int32":
      return { name, kind: "int32", values: new Int32Array(buffer, 0, rows), validity };
    case "string":
    case "string[]":
      throw new TypeError(`the column ${name} is not in segments`);
  }
}

/** Runs of a text. Adjacent runs with the same text are joined. */
function joined(runs: readonly BarsRun[], textOf: (run: BarsRun) => string): TextRun[] {
  const texts: { text: string; rows: number }[] = [];
  for (const run of runs) {
    const text = textOf(run);
    const last = texts.at(-1);
    if (last?.text === text) last.rows += run.rows;
    else texts.push({ text, rows: run.rows });
  }
  return texts;
}

/** A value of each run, by row. */
function eachRun({ runs, rows }: Bars, valueOf: (run: BarsRun) => number): Int32Array {
  const values = new Int32Array(rows);
  let at = 0;
  for (const run of runs) {
    values.fill(valueOf(run), at, at + run.rows);
    at += run.rows;
  }
  return values;
}

/** volume * lot, as the macro `shares_of` computes it. Segments contain only products that are exact as doubles. */
function sharesOf(bars: Bars): BigInt64Array {
  const volumes = new Uint32Array(columnIn(bars, "volume").buffer);
  const lots = new Int32Array(columnIn(bars, "lot").buffer);
  const shares = new BigInt64Array(bars.rows);
  const words = int64Words(shares);
  for (let row = 0; row < bars.rows; row++)
    setInt64(words, row, int64At(volumes, row) * (lots[row] as number));
  return shares;
}

/** amount / shares; null where nothing traded or no amount is reported. A NaN counts as larger than 0, as in SQL. */
function vwapOf(bars: Bars): { readonly values: Float64Array; readonly validity: Uint8Array | undefined } {
  const volumes = new Uint32Array(columnIn(bars, "volume").buffer);
  const lots = new Int32Array(columnIn(bars, "lot").buffer);
  const amounts = new Float64Array(columnIn(bars, "amount").buffer);
  const values = new Float64Array(bars.rows);
  let validity: Uint8Array | undefined;
  for (let row = 0; row < bars.rows; row++) {
    const [volume, amount] = [int64At(volumes, row), amounts[row] as number];
    if (volume > 0 && !(amount <= 0)) {
      values[row] = amount / (volume * (lots[row] as number));
      continue;
    }
    validity ??= new Uint8Array(Math.ceil(bars.rows / 64) * 8).fill(0xff);
    putBit(validity, row, false);
  }
  return { values, validity };
}

const { vwap: _vwap, is_final: _isFinal, region: _region, ...SHARED } = VIEW_COLUMNS;

/**
 * The columns of the macro `adjusted` for landed periods, in their order, and the stored columns that each is computed
 * from. A test compares all of them with the macro's.
 */
const ADJUSTED: Readonly<Record<string, readonly string[]>> = {
  ...SHARED,
  volume: ["volume", "lot"],
  lot: [],
  landed_bars: [],
  is_final: ["is_final"],
  region: [],
};

export const ADJUSTED_COLUMNS: readonly string[] = Object.keys(ADJUSTED);

/**
 * The stored columns that columns of adjusted bars are computed from. The trade date is always included: it selects the
 * adjustment of a bar.
 */
export function storedForAdjusted(names: readonly string[]): ReadonlySet<string> {
  return new Set(["trade_date", ...names.flatMap((name) => ADJUSTED[name] ?? [])]);
}

/**
 * Bars whose prices were adjusted, as rows of the macro `adjusted`.
 *
 * @param names of {@link ADJUSTED_COLUMNS}.
 * @returns undefined where a volume is too large for doubles.
 */
export function adjustedBars(
  table: TableSchema,
  bars: Bars,
  names: readonly string[],
): RecordBatch | undefined {
  const columns: BatchColumn[] = [];
  for (const name of names) {
    const column = adjustedColumn(table, bars, name);
    if (column === undefined) return undefined;
    columns.push(column);
  }
  return columnBatch(columns, bars.rows);
}

function adjustedColumn(table: TableSchema, bars: Bars, name: string): BatchColumn | undefined {
  if (name === "lot") return { name, kind: "int32", values: eachRun(bars, unitOf) };
  if (name === "landed_bars") return { name, kind: "int64", values: new BigInt64Array(bars.rows).fill(1n) };
  if (name !== "volume") return viewColumn(table, bars, name);
  const values = volumesOf(bars);
  return values && { name, kind: "int64", values };
}

/** The number of shares in one unit of volume of a run's region. */
function unitOf({ region }: BarsRun): number {
  return REGIONS[region as Region].lot;
}

/** Volumes in the unit of each row's region; undefined where one is too large for a double. */
function volumesOf({ rows, runs, columns }: Bars): BigInt64Array | undefined {
  const memoryOf = (name: string): ArrayBuffer => columns.get(name)?.buffer as ArrayBuffer;
  const volumes = new BigInt64Array(memoryOf("volume").slice(0, rows * 8));
  const [words, lots] = [int64Words(volumes), new Int32Array(memoryOf("lot"))];
  let start = 0;
  for (const run of runs) {
    const end = start + run.rows;
    if (!hasUnits(words, lots, { start, end }, unitOf(run))) return undefined;
    start = end;
  }
  return volumes;
}
