import type { RecordBatch } from "apache-arrow";
import { type FlatColumn, flatBatch } from "../../arrow/flat-batch.js";
import { int64At, int64Words, setInt64 } from "../../core/int64-words.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { unitsOf } from "../../market/volume-units.js";
import type { TableSchema } from "../../schema/column.js";
import type { Bars } from "./bars.js";
import { viewColumn } from "./view-bars.js";

/**
 * The columns of the macro `adjusted` for landed periods, in their order, and the stored columns that each is computed
 * from. A test compares all of them with the macro's.
 */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  symbol: [],
  trade_date: ["trade_date"],
  timestamp: ["timestamp"],
  open: ["open"],
  high: ["high"],
  low: ["low"],
  close: ["close"],
  volume: ["volume", "lot"],
  amount: ["amount"],
  prev_close: ["prev_close"],
  open_interest: ["open_interest"],
  settlement_price: ["settlement_price"],
  lot: [],
  shares: ["volume", "lot"],
  landed_bars: [],
  is_final: ["is_final"],
  region: [],
};

/** The names of the columns of adjusted bars, in their order. */
export const ADJUSTED_COLUMNS: readonly string[] = Object.keys(COLUMNS);

/**
 * The stored columns that columns of adjusted bars are computed from. The trade date is always included: it selects the
 * adjustment of a bar.
 */
export function storedForAdjusted(names: readonly string[]): ReadonlySet<string> {
  return new Set(["trade_date", ...names.flatMap((name) => COLUMNS[name] ?? [])]);
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
  const columns: FlatColumn[] = [];
  for (const name of names) {
    const column = columnOf(table, bars, name);
    if (column === undefined) return undefined;
    columns.push(column);
  }
  return flatBatch(columns, bars.rows);
}

function columnOf(table: TableSchema, bars: Bars, name: string): FlatColumn | undefined {
  if (name === "lot") return { name, kind: "int32", values: unitsIn(bars) };
  if (name === "landed_bars") return { name, kind: "int64", values: new BigInt64Array(bars.rows).fill(1n) };
  if (name !== "volume") return viewColumn(table, bars, name);
  const values = volumesOf(bars);
  return values && { name, kind: "int64", values };
}

/** The number of shares in one unit of volume, by row: it depends on the row's region. */
function unitsIn({ runs, rows }: Bars): Int32Array {
  const units = new Int32Array(rows);
  let at = 0;
  for (const run of runs) {
    units.fill(REGIONS[run.region as Region].lot, at, at + run.rows);
    at += run.rows;
  }
  return units;
}

/** Volumes in the unit of each row's region; undefined where one is too large for a double. */
function volumesOf(bars: Bars): BigInt64Array | undefined {
  const memoryOf = (name: string): ArrayBuffer => bars.columns.get(name)?.buffer as ArrayBuffer;
  const volumes = new BigInt64Array(memoryOf("volume").slice(0, bars.rows * 8));
  const words = int64Words(volumes);
  const [lots, units] = [new Int32Array(memoryOf("lot")), unitsIn(bars)];
  for (let row = 0; row < bars.rows; row++) {
    const [lot, unit] = [lots[row] as number, units[row] as number];
    if (lot === unit) continue;
    const volume = unitsOf(int64At(words, row) * lot, unit);
    if (volume === undefined) return undefined;
    setInt64(words, row, volume);
  }
  return volumes;
}
