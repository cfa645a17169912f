import type { ResultRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import type { BarColumnName } from "./bar-columns.js";
import type { CellRuns } from "./cell-runs.js";

/** What is computed of a bar's volume, lot and amount. */
export type OfVolume = "volume" | "shares" | "vwap";

/** Fields that follow from the volume, and what each is before it is adjusted. */
export const OF_VOLUME: Partial<Readonly<Record<BarColumnName, OfVolume>>> = {
  volume: "volume",
  shares: "shares",
  adjusted_volume: "shares",
  vwap: "vwap",
};

/** The columns of a result that volumes are computed of: an int64, an int32, and a double. */
export interface VolumeColumns {
  readonly volume: number;
  readonly lot: number;
  readonly amount: number;
}

/**
 * Computes the volumes of rows that are stored in the unit of their region, and are small enough for 64 bits in lots and
 * shares: nearly all are. These are the values of the SQL of the columns, whose cases take DuckDB as long as a third of
 * the scan.
 *
 * @param lots the lot of each symbol's region. @param into receives the values of the used rows; NaN for a missing one.
 * @returns false where a row is another one: the values are then invalid.
 */
export function plainVolumes(
  rows: ResultRows,
  columns: VolumeColumns,
  runs: CellRuns,
  lots: Int32Array,
  { volume, shares, vwap }: Readonly<Record<OfVolume, Float64Array>>,
): boolean {
  const { buffer, byteOffset } = rows.values(columns.volume, "int64");
  const words = new Uint32Array(buffer, byteOffset, rows.rows * 2);
  const rowLots = rows.values(columns.lot, "int32");
  const hasLot = rows.validity(columns.lot);
  const amounts = rows.values(columns.amount, "double");
  const hasAmount = rows.validity(columns.amount);
  for (let run = 0; run < runs.count; run++) {
    const lot = lots[runs.symbol[run] as number] as number;
    const end = runs.end[run] as number;
    for (let row = runs.start[run] as number; row < end; row++) {
      if (words[row * 2 + 1] !== 0 || rowLots[row] !== lot || !isPresent(hasLot, row)) return false;
      const inShares = (words[row * 2] as number) * lot;
      const amount = isPresent(hasAmount, row) ? (amounts[row] as number) : Number.NaN;
      volume[row] = words[row * 2] as number;
      shares[row] = inShares;
      vwap[row] = amount > 0 ? amount / inShares : Number.NaN;
    }
  }
  return true;
}
