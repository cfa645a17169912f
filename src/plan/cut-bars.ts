import { int64At, int64Words, isSet } from "../core/bits.js";
import { lowerBound } from "../core/lower-bound.js";
import { hasOwnSessions, type Region } from "../market/regions.js";
import { regionOf } from "../market/symbol.js";
import type { CalendarSpan } from "../market/trading-calendar.js";
import type { BarSegment, DeliveredBars } from "../wire/bar-segment.js";
import { type KlineColumns, OPTIONAL_COLUMNS } from "../wire/kline-columns.js";

/**
 * Number of rows in one step of the search for broken bars. All rules are tested on these rows before the next step.
 */
const SEARCHED_ROWS = 64;

/** Rules for where bars are cut. */
export interface CutRules {
  /** Whether the bars are minutes. */
  readonly isMinute: boolean;
  /** By region: returns the partition's period that contains an instant (epoch ms). */
  readonly periodOf: Readonly<Record<Region, (ms: number) => CalendarSpan>>;
  /** By region: bars labelled before this instant (epoch ms) are final. */
  readonly finalEnd: Readonly<Record<Region, number>>;
  /** By region: no bar can have this instant (epoch ms) or a later one. */
  readonly possibleEnd: Readonly<Record<Region, number>>;
}

/** A segment that belongs to one partition. */
export interface PlacedSegment extends BarSegment {
  readonly region: Region;
  readonly period: CalendarSpan;
}

/** Delivered bars, cut into segments. */
export interface CutBars {
  /**
   * Segments in the order of the delivery. Each has one symbol and one partition, and its bars are all final or all not
   * final.
   */
  readonly placed: PlacedSegment[];
  /**
   * Bars that break a rule: an unknown exchange; a time in the future; a null or an infinity where a number is required;
   * `high` below `low`.
   */
  readonly broken: BarSegment[];
  /** Bars without a price and without a volume, which state no trade: nothing is lost with them. */
  readonly idle: BarSegment[];
}

/**
 * Cuts delivered bars into segments without copying them. This is the only pass over the bars before they are written.
 *
 * @throws {TypeError} where the bars of a symbol are not together, or do not ascend in time.
 */
export function cutBars(delivered: DeliveredBars, rules: CutRules, into: CutBars): void {
  const { columns } = delivered;
  const { rows, symbols, symbolIndex } = columns;
  const nextBroken = brokenSearch(columns);
  const seen = new Set<number>();
  for (let start = 0, end = 0; start < rows; start = end) {
    const index = symbolIndex[start] as number;
    for (end = start + 1; end < rows && symbolIndex[end] === index; ) end++;
    const symbol = symbols[index] as string;
    if (seen.has(index)) throw new TypeError(`bars of ${symbol}: are not together in their columns`);
    seen.add(index);
    cutSymbol(
      { ...delivered, symbol, region: regionOf(symbol), start, end, isFinal: false },
      nextBroken,
      rules,
      into,
    );
  }
}

/** Finds the first row at or after `start` that breaks a rule; `end` if there is none. */
type BrokenSearch = (start: number, end: number) => number;

function cutSymbol(
  whole: BarSegment,
  nextBroken: BrokenSearch,
  { periodOf, isMinute, finalEnd, possibleEnd }: CutRules,
  { placed, broken, idle }: CutBars,
): void {
  const { columns, symbol, region, start } = whole;
  if (region === undefined || (isMinute && hasOwnSessions(symbol))) {
    broken.push(whole);
    return;
  }
  const words = int64Words(columns.timestamp);
  checkAscent(words, whole, symbol);
  const end = firstNotBefore(words, start, whole.end, possibleEnd[region]);
  if (end < whole.end) broken.push({ ...whole, start: end });
  for (let from = start, to = start; from < end; from = to) {
    const period = periodOf[region](int64At(words, from));
    const isFinal = int64At(words, from) < finalEnd[region];
    to = firstNotBefore(words, from, end, isFinal ? Math.min(period.end, finalEnd[region]) : period.end);
    for (let row = from; row < to; row++) {
      const bad = nextBroken(row, to);
      if (bad > row) placed.push({ ...whole, region, start: row, end: bad, isFinal, period });
      if (bad < to) (isIdle(columns, bad) ? idle : broken).push({ ...whole, start: bad, end: bad + 1 });
      row = bad;
    }
  }
}

/** Whether a bar that is found breaks no rule but that it has no trade. Required numbers that are null are NaN. */
function isIdle({ volume, doubles: { open, high, low, close, amount } }: KlineColumns, row: number): boolean {
  const [top, bottom] = [high.values[row] as number, low.values[row] as number];
  const sum = (open.values[row] as number) + top + bottom + (amount.values[row] as number);
  return close.values[row] === 0 && volume[row] === 0n && sum - sum === 0 && top >= bottom;
}

function checkAscent(words: Uint32Array, { start, end }: BarSegment, symbol: string): void {
  // The words of the integers are compared, which takes half the time of comparing the integers.
  let low = words[start * 2] as number;
  let high = (words[start * 2 + 1] as number) | 0;
  for (let row = start + 1; row < end; row++) {
    const nextLow = words[row * 2] as number;
    const nextHigh = (words[row * 2 + 1] as number) | 0;
    const ascends = nextHigh === high ? nextLow > low : nextHigh > high;
    if (!ascends) throw new TypeError(`bars of ${symbol}: do not ascend in time at row ${row}`);
    low = nextLow;
    high = nextHigh;
  }
}

/** The first row in the range from `start` to `end` that is not before an instant. The rows ascend in time. */
function firstNotBefore(words: Uint32Array, start: number, end: number, ms: number): number {
  return lowerBound(start, end, (row) => int64At(words, row) >= ms);
}

/** Makes the search for bars that break a rule. The rejects then name the rule and describe it. */
function brokenSearch({ rows, volume, doubles }: KlineColumns): BrokenSearch {
  const { open, high, low, close, amount } = doubles;
  const [opens, highs, lows, closes, amounts] = [
    open.values,
    high.values,
    low.values,
    close.values,
    amount.values,
  ];
  const volumeWords = new Int32Array(volume.buffer, volume.byteOffset, rows * 2);
  const inNumbers: BrokenSearch = (start, end) => {
    for (let row = start; row < end; row++) {
      const top = highs[row] as number;
      const bottom = lows[row] as number;
      const sum = (opens[row] as number) + top + bottom + (closes[row] as number) + (amounts[row] as number);
      // The difference is NaN where a number is not finite.
      const isSound =
        sum - sum === 0 &&
        top >= bottom &&
        (volumeWords[row * 2 + 1] as number) >= 0 &&
        (closes[row] !== 0 || volume[row] !== 0n);
      if (!isSound) return row;
    }
    return end;
  };
  const bitmaps = Object.entries(doubles).flatMap(([name, { validity }]) =>
    validity === undefined || OPTIONAL_COLUMNS.has(name) ? [] : [validity],
  );
  if (bitmaps.length === 0) return inNumbers;
  return (start, end) => {
    for (let from = start; from < end; from += SEARCHED_ROWS) {
      const to = Math.min(from + SEARCHED_ROWS, end);
      const found = bitmaps.reduce((first, bits) => firstNull(bits, from, first), inNumbers(from, to));
      if (found < to) return found;
    }
    return end;
  };
}

function firstNull(bits: Uint8Array, start: number, end: number): number {
  for (let row = start; row < end; row++) if (!isSet(bits, row)) return row;
  return end;
}
