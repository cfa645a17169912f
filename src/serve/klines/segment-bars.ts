import { int64At, int64Words, setInt64 } from "../../core/int64-words.js";
import type { TimeRange } from "../../core/time.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { adjustPrices } from "../../lake/segments/adjust-bars.js";
import type { Bars } from "../../lake/segments/bars.js";
import type { SegmentReader } from "../../lake/segments/segment-reader.js";
import type { ExEvent } from "../../market/adjustment/ex-events.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { unitsOf } from "../../market/volume-units.js";
import { DOUBLE_COLUMNS } from "../../wire/kline-columns.js";
import type { KlineRows } from "./bar-runs.js";

const COLUMNS: ReadonlySet<string> = new Set(["timestamp", "volume", "lot", ...DOUBLE_COLUMNS]);

/** With the trade date, which selects the adjustment of a bar. */
const ADJUSTED_COLUMNS: ReadonlySet<string> = new Set([...COLUMNS, "trade_date"]);

/** A request for landed bars of some symbols, in a lake whose rows are all visible. */
export interface LandedDemand {
  readonly symbols: readonly string[];
  /** Epoch milliseconds. */
  readonly rangeOf: (symbol: string) => TimeRange;
  /** The share of a larger demand that this one is. @default 1 */
  readonly share?: number;
  /** Shares in one unit of volume. */
  readonly unitOf: (region: Region) => number;
  readonly adjustment: Adjustment;
  /** Ex-events of each symbol, in the symbols' order, ascending by day. None where `adjustment` is `none`. */
  readonly events: readonly (readonly ExEvent[])[];
  /** Returns memory of at least a number of bytes for the columns. @default new memory */
  readonly take?: ((bytes: number) => ArrayBuffer) | undefined;
}

/** The result of reading from segments. */
export interface LandedRows {
  /** The rows in the form of a query's result; undefined where they must be queried. */
  readonly rows?: KlineRows;
  /** Builds the missing segments in the background. */
  readonly buildMissing?: () => void;
}

/** Reads landed bars from segments. */
export async function segmentBars(
  segments: SegmentReader,
  snapshot: Snapshot,
  { symbols, rangeOf, unitOf, adjustment, events, take, share = 1 }: LandedDemand,
): Promise<LandedRows> {
  if (new Set(symbols).size < symbols.length) return {};
  const { bars, ...rest } = await segments.read(snapshot, {
    symbols,
    by: "time",
    share,
    rangeOf: (symbol) => {
      const { start, end } = rangeOf(symbol);
      return { from: start * 1000, to: end * 1000 };
    },
    columns: adjustment === "none" ? COLUMNS : ADJUSTED_COLUMNS,
    take,
  });
  if (bars === undefined) return rest;
  const bySymbol = new Map(symbols.map((symbol, at) => [symbol, events[at] ?? []]));
  if (adjustment !== "none") adjustPrices(bars, bySymbol, adjustment);
  const rows = rowsOf(bars, symbols, unitOf);
  return rows === undefined ? {} : { rows };
}

/** The columns of bars in the form of the query of K-lines; undefined where a volume is too large for a double. */
function rowsOf(
  { rows, runs, columns }: Bars,
  symbols: readonly string[],
  unitOf: (region: Region) => number,
): KlineRows | undefined {
  const memory = (name: string): ArrayBuffer => columns.get(name)?.buffer ?? new ArrayBuffer(0);
  const timestamp = new BigInt64Array(memory("timestamp"), 0, rows);
  const volume = new BigInt64Array(memory("volume"), 0, rows);
  const lots = new Int32Array(memory("lot"));
  const [times, volumes] = [int64Words(timestamp), int64Words(volume)];
  const position = new Int32Array(rows);
  const positions = new Map(symbols.map((symbol, at) => [symbol, at]));
  let row = 0;
  for (const run of runs) {
    const unit = unitOf(regionOf(run.symbol) as Region);
    position.fill(positions.get(run.symbol) as number, row, row + run.rows);
    for (const end = row + run.rows; row < end; row++) {
      setInt64(times, row, Math.floor(int64At(times, row) / 1000));
      const lot = lots[row] as number;
      if (lot === unit) continue;
      const units = unitsOf(int64At(volumes, row) * lot, unit);
      if (units === undefined) return undefined;
      setInt64(volumes, row, units);
    }
  }
  const doubles = DOUBLE_COLUMNS.map((name) => {
    const values = new Float64Array(memory(name), 0, rows);
    return [name, { values, validity: columns.get(name)?.validity }] as const;
  });
  const whole = {
    position: { values: position, validity: undefined },
    timestamp: { values: timestamp, validity: undefined },
    volume: { values: volume, validity: undefined },
  };
  return {
    rows,
    columns: { ...whole, ...(Object.fromEntries(doubles) as Omit<KlineRows["columns"], keyof typeof whole>) },
  };
}
