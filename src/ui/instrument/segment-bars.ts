import type { RecordBatch } from "apache-arrow";
import { isPresent, putBit } from "../../core/bits.js";
import { DAY_MS, epochDay, type TradingDate } from "../../core/time.js";
import { knownOf, type Lake } from "../../lake/lake.js";
import { ALL_DAYS, BarReader, type StateReads } from "../../lake/segments/bar-reader.js";
import type { Bars } from "../../lake/segments/block.js";
import type { SegmentPlace } from "../../lake/segments/segment-folder.js";
import { SegmentReader } from "../../lake/segments/segment-reader.js";
import { BUCKETS, type BucketUnit, basePeriod, type LandedPeriod } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { offsetMs } from "../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { LakeState } from "../session/lake-states.js";
import type { BarsRequest } from "./bars-query.js";

/**
 * The bars of a request, or a function that makes them available to the next request; neither where only the views have
 * them.
 */
interface SegmentChart {
  readonly batch?: RecordBatch;
  readonly buildMissing?: () => void;
}

/**
 * Reads bars of a chart from segments, without a session: minutes, days, and periods that are made from days. They
 * equal the rows of `adjusted`, which a test verifies.
 */
export class SegmentBars implements AsyncDisposable {
  readonly #segments: SegmentReader;
  readonly #hasOwnViews: boolean;
  readonly #bars: BarReader<LakeState>;

  constructor(lake: Lake, place: SegmentPlace, reads: StateReads<LakeState>) {
    this.#segments = new SegmentReader(lake, place);
    this.#hasOwnViews = lake.userViews !== undefined;
    this.#bars = new BarReader(this.#segments, reads);
  }

  /** The bars of a request from a date. @param from the first date. @default everything */
  async read(state: LakeState, request: BarsRequest, from: TradingDate | undefined): Promise<SegmentChart> {
    const { symbol, period, adjustment, to } = request;
    const bucket = BUCKETS[period];
    const region = regionOf(symbol);
    const isCut = bucket.kind === "calendar" && (from !== undefined || to !== undefined);
    if (region === undefined || bucket.kind === "minutes" || isCut || this.#hasOwnViews) return {};
    const range = {
      from: from === undefined ? ALL_DAYS.from : epochDay(from),
      to: to === undefined ? ALL_DAYS.to : epochDay(to),
    };
    const demand = {
      symbols: [symbol],
      by: "day",
      rangeOf: () => range,
      columns: STORED_COLUMNS,
      adjustment,
      prepare: bucket.kind === "calendar" ? statePrices : undefined,
    } as const;
    const base = basePeriod(period);
    const { bars, ...rest } = await this.#bars.read(base === "1d" ? BARS_1D : BARS_1M, demand, {
      state,
      snapshotOf: async (table) => state.snapshots.find((one) => one.table === table),
      known: knownOf(state.pointInTime),
    });
    if (bars === undefined) return rest;
    const rows = bucket.kind === "calendar" ? calendarBars(bars, bucket.unit) : chartRows(bars);
    return { batch: await chartBatch(rows, base, region) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#segments[Symbol.asyncDispose]();
  }
}

const STORED_COLUMNS: ReadonlySet<string> = new Set([
  "trade_date",
  "timestamp",
  "open",
  "high",
  "low",
  "close",
  "volume",
  "lot",
  "amount",
  "prev_close",
  "is_final",
]);

/** Bars of one symbol as columns, in the order of time. */
interface ChartRows {
  readonly rows: number;
  /** Days since 1970-01-01. */
  readonly day: Int32Array;
  /** Epoch microseconds; without meaning for bars that are made from days. */
  readonly timestamp: BigInt64Array;
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly shares: Float64Array;
  readonly amount: Float64Array;
  readonly prevClose: Float64Array;
  /** One bit for each row, 1 where it has a previous close; undefined where every row has one. */
  readonly hasPrevClose: Uint8Array | undefined;
  readonly isFinal: Int32Array;
}

/** The memory of the values of a column. */
function memoryOf({ columns }: Bars, name: string): ArrayBuffer {
  const found = columns.get(name);
  if (found === undefined) throw new TypeError(`the column ${name} was not read`);
  return found.buffer;
}

/** Sets prices of 0 to the close, as `stated_price` does. Call it before an adjustment, which can make a price 0. */
function statePrices(bars: Bars): void {
  const close = new Float64Array(memoryOf(bars, "close"));
  for (const name of ["open", "high", "low"]) {
    const prices = new Float64Array(memoryOf(bars, name));
    for (let row = 0; row < bars.rows; row++) if (prices[row] === 0) prices[row] = close[row] as number;
  }
}

function chartRows(bars: Bars): ChartRows {
  const { rows, columns } = bars;
  const doubles = (name: string): Float64Array => new Float64Array(memoryOf(bars, name), 0, rows);
  const volume = new BigInt64Array(memoryOf(bars, "volume"), 0, rows);
  const lot = new Int32Array(memoryOf(bars, "lot"), 0, rows);
  return {
    rows,
    day: new Int32Array(memoryOf(bars, "trade_date"), 0, rows),
    timestamp: new BigInt64Array(memoryOf(bars, "timestamp"), 0, rows),
    open: doubles("open"),
    high: doubles("high"),
    low: doubles("low"),
    close: doubles("close"),
    shares: Float64Array.from(lot, (shares, row) => Number(volume[row]) * shares),
    amount: doubles("amount"),
    prevClose: doubles("prev_close"),
    hasPrevClose: columns.get("prev_close")?.validity,
    isFinal: new Int32Array(memoryOf(bars, "is_final"), 0, rows),
  };
}

/** Bars of weeks and longer periods, aggregated from daily bars as in the macro `adjusted`. */
function calendarBars(bars: Bars, unit: BucketUnit): ChartRows {
  const from = chartRows(bars);
  const firsts: number[] = [];
  let last = Number.NaN;
  for (let row = 0; row < from.rows; row++) {
    const bucket = bucketOf(from.day[row] as number, unit);
    if (bucket !== last) firsts.push(row);
    last = bucket;
  }
  const rows = firsts.length;
  const made = {
    rows,
    day: new Int32Array(rows),
    timestamp: new BigInt64Array(rows),
    open: new Float64Array(rows),
    high: new Float64Array(rows).fill(Number.NEGATIVE_INFINITY),
    low: new Float64Array(rows).fill(Number.POSITIVE_INFINITY),
    close: new Float64Array(rows),
    shares: new Float64Array(rows),
    amount: new Float64Array(rows),
    prevClose: new Float64Array(rows),
    hasPrevClose: new Uint8Array(Math.ceil(rows / 64) * 8),
    isFinal: new Int32Array(rows).fill(1),
  };
  for (const [at, first] of firsts.entries()) {
    const end = firsts[at + 1] ?? from.rows;
    made.day[at] = from.day[end - 1] as number;
    made.open[at] = from.open[first] as number;
    made.close[at] = from.close[end - 1] as number;
    made.prevClose[at] = from.prevClose[first] as number;
    putBit(made.hasPrevClose, at, isPresent(from.hasPrevClose, first));
    for (let row = first; row < end; row++) {
      made.high[at] = Math.max(made.high[at] as number, from.high[row] as number);
      made.low[at] = Math.min(made.low[at] as number, from.low[row] as number);
      made.shares[at] = (made.shares[at] as number) + (from.shares[row] as number);
      made.amount[at] = (made.amount[at] as number) + (from.amount[row] as number);
      if (from.isFinal[row] === 0) made.isFinal[at] = 0;
    }
  }
  return made;
}

/**
 * A number that is the same for all days in one calendar unit, and different for other units. A week begins on Monday.
 */
function bucketOf(day: number, unit: BucketUnit): number {
  if (unit === "day") return day;
  if (unit === "week") return Math.floor((day + 3) / 7);
  const date = new Date(day * DAY_MS);
  const months = date.getUTCFullYear() * 12 + date.getUTCMonth();
  return Math.floor(months / { month: 1, quarter: 3, year: 12 }[unit]);
}

/** Bars as the record batch that a chart reads. `barsSql` in bars-query.ts has the same columns. */
async function chartBatch(found: ChartRows, period: LandedPeriod, region: Region): Promise<RecordBatch> {
  // Arrow is loaded with the first chart.
  const { columnBatch } = await import("../../arrow/column-batch.js");
  const { rows, day, timestamp, shares, close } = found;
  const { zone } = REGIONS[region];
  const secondsOf = (micros: bigint): number => {
    const ms = Number(micros / 1000n);
    return (ms + offsetMs(zone, ms)) / 1000;
  };
  const time =
    period === "1d"
      ? Float64Array.from(day, (days) => (days * DAY_MS) / 1000)
      : Float64Array.from(timestamp, secondsOf);
  // Some feeds set open, high and low to 0 in a bar without trades. Drawn unchanged, it would compress all other
  // prices.
  const isFlat = (row: number): boolean =>
    shares[row] === 0 && found.open[row] === found.high[row] && found.high[row] === found.low[row];
  const drawn = (prices: Float64Array): Float64Array =>
    prices.map((price, row) => (isFlat(row) ? (close[row] as number) : price));
  return columnBatch(
    [
      { name: "time", kind: "double", values: time },
      { name: "open", kind: "double", values: drawn(found.open) },
      { name: "high", kind: "double", values: drawn(found.high) },
      { name: "low", kind: "double", values: drawn(found.low) },
      { name: "close", kind: "double", values: close },
      { name: "shares", kind: "double", values: shares },
      { name: "amount", kind: "double", values: found.amount },
      { name: "prev_close", kind: "double", values: found.prevClose, validity: found.hasPrevClose },
      { name: "is_final", kind: "boolean", values: found.isFinal },
    ],
    rows,
  );
}
