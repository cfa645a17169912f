import type { LocalPeriod } from "../calendar/local-periods.js";
import type { Region } from "../core/exchange.js";
import { regionOf } from "../core/symbol.js";
import type { BarSegment, DeliveredBars } from "../wire/bar-segment.js";
import { type KlineColumns, OPTIONAL_COLUMNS } from "../wire/kline-columns.js";

const TWO_32 = 2 ** 32;

/** What decides where bars are cut. */
export interface CutRules {
  /** The partition's period that an instant (epoch ms) falls in, by region. */
  readonly periodOf: Readonly<Record<Region, (ms: number) => LocalPeriod>>;
  /** Bars labelled before this instant (epoch ms) are final, by region. */
  readonly finalEnd: Readonly<Record<Region, number>>;
}

/** A segment that lies in one partition. */
export interface PlacedSegment extends BarSegment {
  readonly region: Region;
  readonly period: LocalPeriod;
}

/** Delivered bars, cut. */
export interface CutBars {
  /** In the order of the delivery; each of one symbol, one partition, and all final or none. */
  readonly placed: PlacedSegment[];
  /** Bars that break a rule: an unknown exchange, a null or an infinity where a number must be, `high` below `low`. */
  readonly broken: BarSegment[];
}

/**
 * Cuts delivered bars into segments, without copying any: the one pass over the bars that landing takes before it writes.
 *
 * @throws {TypeError} when a symbol's bars are not together, or do not ascend in time.
 */
export function cutBars(delivered: DeliveredBars, rules: CutRules, into: CutBars): void {
  const { columns } = delivered;
  const { rows, symbols, symbolIndex } = columns;
  const isBroken = brokenTest(columns);
  const seen = new Set<number>();
  for (let start = 0, end = 0; start < rows; start = end) {
    const index = symbolIndex[start] as number;
    for (end = start + 1; end < rows && symbolIndex[end] === index; ) end++;
    const symbol = symbols[index] as string;
    if (seen.has(index)) throw new TypeError(`bars of ${symbol}: are not together in their columns`);
    seen.add(index);
    cutSymbol(
      { ...delivered, symbol, region: regionOf(symbol), start, end, isFinal: false },
      isBroken,
      rules,
      into,
    );
  }
}

function cutSymbol(
  whole: BarSegment,
  isBroken: (row: number) => boolean,
  { periodOf, finalEnd }: CutRules,
  { placed, broken }: CutBars,
): void {
  const { columns, symbol, region, end } = whole;
  if (region === undefined) {
    broken.push(whole);
    return;
  }
  const words = new Uint32Array(columns.timestamp.buffer, columns.timestamp.byteOffset, columns.rows * 2);
  let { start } = whole;
  let last = Number.NEGATIVE_INFINITY;
  let limit = Number.NEGATIVE_INFINITY;
  let period: LocalPeriod | undefined;
  let isFinal = false;
  const close = (row: number): void => {
    if (period !== undefined && row > start)
      placed.push({ ...whole, region, start, end: row, isFinal, period });
    start = row;
  };
  for (let row = start; row < end; row++) {
    const at = ((words[row * 2 + 1] as number) | 0) * TWO_32 + (words[row * 2] as number);
    if (at <= last) throw new TypeError(`bars of ${symbol}: do not ascend in time at row ${row}`);
    last = at;
    if (isBroken(row)) {
      close(row);
      broken.push({ ...whole, start: row, end: row + 1 });
      start = row + 1;
    } else if (at >= limit) {
      close(row);
      period = periodOf[region](at);
      isFinal = at < finalEnd[region];
      limit = isFinal ? Math.min(period.end, finalEnd[region]) : period.end;
    }
  }
  close(end);
}

/** Makes the test whether a bar breaks a rule. Which one, and in which words, the rejects say. */
function brokenTest({ rows, volume, doubles }: KlineColumns): (row: number) => boolean {
  const { open, high, low, close, amount } = doubles;
  const [opens, highs, lows, closes, amounts] = [
    open.values,
    high.values,
    low.values,
    close.values,
    amount.values,
  ];
  const volumeWords = new Int32Array(volume.buffer, volume.byteOffset, rows * 2);
  const breaks = (row: number): boolean => {
    const [top, bottom] = [highs[row] as number, lows[row] as number];
    const sum = (opens[row] as number) + top + bottom + (closes[row] as number) + (amounts[row] as number);
    return (
      !(Math.abs(sum) < Number.POSITIVE_INFINITY) || (volumeWords[row * 2 + 1] as number) < 0 || top < bottom
    );
  };
  const bitmaps = Object.entries(doubles).flatMap(([name, { validity }]) =>
    validity === undefined || OPTIONAL_COLUMNS.has(name) ? [] : [validity],
  );
  if (bitmaps.length === 0) return breaks;
  return (row) =>
    breaks(row) || bitmaps.some((bits) => ((bits[row >> 3] as number) & (1 << (row & 7))) === 0);
}
