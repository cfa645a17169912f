import { int64At, int64Words, setInt64 } from "../../core/bits.js";
import type { TimeRange } from "../../core/time.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { adjustPrices } from "../../lake/segments/adjust-bars.js";
import type { Bars, BarsRun } from "../../lake/segments/block.js";
import type { SegmentReader } from "../../lake/segments/segment-reader.js";
import type { ExEvent } from "../../market/ex-rule.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { unitsOf } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../wire/kline-columns.js";
import type { LandedBars, SymbolStretch } from "./bar-runs.js";

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
export interface SegmentResult {
  /** Undefined where the bars must be queried. */
  readonly landed?: LandedBars;
  /** Builds the missing segments in the background. */
  readonly buildMissing?: () => void;
}

/** Reads landed bars from segments. */
export async function segmentBars(
  segments: SegmentReader,
  snapshot: Snapshot,
  { symbols, rangeOf, unitOf, adjustment, events, take, share = 1 }: LandedDemand,
): Promise<SegmentResult> {
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
  const landed = landedBars(bars, unitOf);
  return landed === undefined ? {} : { landed };
}

/** The bars in milliseconds and units; undefined where a volume is too large for a double. */
function landedBars(
  { rows, runs, columns }: Bars,
  unitOf: (region: Region) => number,
): LandedBars | undefined {
  const memory = (name: string): ArrayBuffer => columns.get(name)?.buffer ?? new ArrayBuffer(0);
  const timestamp = new BigInt64Array(memory("timestamp"), 0, rows);
  const volume = new BigInt64Array(memory("volume"), 0, rows);
  const lots = new Int32Array(memory("lot"));
  const volumes = int64Words(volume);
  const times = new LandedTimes(timestamp);
  const stretches = new Map<string, SymbolStretch>();
  for (let start = 0, at = 0; at < runs.length; ) {
    const { symbol } = runs[at] as BarsRun;
    let end = start;
    for (; runs[at]?.symbol === symbol; at++) end += (runs[at] as BarsRun).rows;
    if (start === end) continue;
    if (!hasUnits(volumes, lots, { start, end }, unitOf(regionOf(symbol) as Region))) return undefined;
    stretches.set(symbol, { start, end, ascends: times.toMilliseconds(start, end) });
    start = end;
  }
  const doubles = DOUBLE_COLUMNS.map((name) => {
    const values = new Float64Array(memory(name), 0, rows);
    return [name, { values, validity: columns.get(name)?.validity }] as const;
  });
  const values: KlineValues = {
    timestamp,
    volume,
    doubles: Object.fromEntries(doubles) as unknown as KlineValues["doubles"],
  };
  return { values, stretches };
}

/** Converts volumes from lots to units. @returns whether all of them can be converted. */
function hasUnits(
  volumes: Uint32Array,
  lots: Int32Array,
  { start, end }: Pick<SymbolStretch, "start" | "end">,
  unit: number,
): boolean {
  for (let row = start; row < end; row++) {
    const lot = lots[row] as number;
    if (lot === unit) continue;
    const units = unitsOf(int64At(volumes, row) * lot, unit);
    if (units === undefined) return false;
    setInt64(volumes, row, units);
  }
  return true;
}

/**
 * Converts timestamps from microseconds. Most symbols have bars at the same times as the one before them: these are
 * compared and copied, which takes a quarter of the time. It is a class because it owns a copy of the last ones.
 */
class LandedTimes {
  readonly #words: Uint32Array;
  /** The last timestamps that were converted, as they were before. */
  #before = new Uint32Array(0);
  #start = 0;
  #rows = 0;
  #ascends = true;

  constructor(timestamps: BigInt64Array) {
    this.#words = int64Words(timestamps);
  }

  /** Converts the timestamps of a symbol. @returns whether each is later than the one before it. */
  toMilliseconds(start: number, end: number): boolean {
    const words = this.#words;
    const rows = end - start;
    if (rows === this.#rows && isEqual(words, 2 * start, this.#before, 2 * rows)) {
      words.copyWithin(2 * start, 2 * this.#start, 2 * (this.#start + rows));
      return this.#ascends;
    }
    if (this.#before.length < 2 * rows) this.#before = new Uint32Array(4 * rows);
    this.#before.set(words.subarray(2 * start, 2 * end));
    let ascends = true;
    for (let row = start, last = Number.NEGATIVE_INFINITY; row < end; row++) {
      const time = Math.floor(int64At(words, row) / 1000);
      if (time <= last) ascends = false;
      setInt64(words, row, time);
      last = time;
    }
    [this.#start, this.#rows, this.#ascends] = [start, rows, ascends];
    return ascends;
  }
}

/** Whether `count` words from `from` on equal the first `count` words of `others`. */
function isEqual(words: Uint32Array, from: number, others: Uint32Array, count: number): boolean {
  for (let at = 0; at < count; at++) if (words[from + at] !== others[at]) return false;
  return true;
}
