import { inByteOrder, int64At, int64Words, isPresent } from "../core/bits.js";
import { groupBy } from "../core/group-by.js";
import type { IssueRule } from "../core/issue.js";
import { lowerBound } from "../core/lower-bound.js";
import { compareText } from "../core/text-order.js";
import { byRegion, hasOwnSessions, REGIONS, type Region } from "../market/regions.js";
import { regionOf } from "../market/symbol.js";
import { type CalendarSpan, type CalendarUnit, calendarSpans } from "../market/trading-calendar.js";
import { type BarSegment, type DeliveredBars, firstTime, lastTime } from "../wire/bar-segment.js";
import { DOUBLE_COLUMNS } from "../wire/kline-columns.js";
import { type BarSearch, barSearch } from "./bar-rules.js";

interface SplitRules {
  readonly isMinute: boolean;
  /** By region: the partition's period that contains an instant (epoch ms). */
  readonly periodOf: Readonly<Record<Region, (ms: number) => CalendarSpan>>;
  /** By region: bars labelled before this instant (epoch ms) are final. */
  readonly finalEnd: Readonly<Record<Region, number>>;
  /** By region: no bar can have this instant (epoch ms) or a later one. */
  readonly possibleEnd: Readonly<Record<Region, number>>;
}

/** A segment that belongs to one partition: its bars are all final or all not final. */
interface PlacedSegment extends BarSegment {
  readonly region: Region;
  readonly period: CalendarSpan;
}

/** Bars that break a rule: one of `BAR_RULES`, or that of their exchange or of their time. */
export interface RejectedSegment extends BarSegment {
  readonly rule: IssueRule;
}

/** Delivered bars as segments, in the order of the delivery. */
interface SplitBars {
  readonly placed: PlacedSegment[];
  readonly rejected: RejectedSegment[];
}

/** Divides delivered bars into segments without copying them. This is the only pass over the bars before they are written. */
function splitBars(delivered: DeliveredBars, rules: SplitRules, into: SplitBars): void {
  const { columns } = delivered;
  const { rows, symbols, symbolIndex } = columns;
  const search = barSearch(columns);
  const seen = new Set<number>();
  for (let start = 0, end = 0; start < rows; start = end) {
    const index = symbolIndex[start] as number;
    for (end = start + 1; end < rows && symbolIndex[end] === index; ) end++;
    const symbol = symbols[index] as string;
    if (seen.has(index)) throw new TypeError(`bars of ${symbol}: are not together in their columns`);
    seen.add(index);
    splitSymbol(
      { ...delivered, symbol, region: regionOf(symbol), start, end, isFinal: false },
      search,
      rules,
      into,
    );
  }
}

function splitSymbol(
  whole: BarSegment,
  { next, ruleAt }: BarSearch,
  { periodOf, isMinute, finalEnd, possibleEnd }: SplitRules,
  { placed, rejected }: SplitBars,
): void {
  const { columns, symbol, region, start } = whole;
  if (region === undefined || (isMinute && hasOwnSessions(symbol))) {
    rejected.push({ ...whole, rule: region === undefined ? "unknown_exchange" : "unknown_sessions" });
    return;
  }
  const words = int64Words(columns.timestamp);
  checkAscent(words, whole, symbol);
  const end = firstNotBefore(words, start, whole.end, possibleEnd[region]);
  if (end < whole.end) rejected.push({ ...whole, start: end, rule: "out_of_range" });
  for (let from = start, to = start; from < end; from = to) {
    const period = periodOf[region](int64At(words, from));
    const isFinal = int64At(words, from) < finalEnd[region];
    to = firstNotBefore(words, from, end, isFinal ? Math.min(period.end, finalEnd[region]) : period.end);
    for (let row = from; row < to; row++) {
      const bad = next(row, to);
      if (bad > row) placed.push({ ...whole, region, start: row, end: bad, isFinal, period });
      if (bad < to) rejected.push({ ...whole, start: bad, end: bad + 1, rule: ruleAt(bad).rule });
      row = bad;
    }
  }
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

/** Segments without repeats, and the bars that were repeats. */
interface MergedSegments<S extends BarSegment> {
  /** Segments that ascend in time and do not overlap. */
  readonly used: S[];
  readonly repeats: S[];
  /**
   * Number of bars that are left out because another source has the same values. The windows of two requests may
   * overlap if a symbol fills a free place in a request for other symbols.
   */
  equal: number;
}

/**
 * Merges segments of one symbol that overlap in time. Of several bars with the same time the first one is used: the one
 * whose source sorts first, and of these the one that was delivered first.
 *
 * @param segments of one symbol and one partition, in the order of the delivery.
 */
function mergeRepeats<S extends BarSegment>(segments: readonly S[], into: MergedSegments<S>): void {
  if (segments.length === 1) {
    into.used.push(segments[0] as S);
    return;
  }
  const order = new Map(segments.map((segment, index) => [segment, index]));
  const byTime = segments.toSorted((a, b) => firstTime(a) - firstTime(b));
  let cluster: S[] = [];
  let end = Number.NEGATIVE_INFINITY;
  const close = (): void => {
    if (cluster.length === 1) into.used.push(cluster[0] as S);
    else if (cluster.length > 1) {
      mergeCluster(
        cluster.toSorted(
          (a, b) => compare(a.source, b.source) || Number(order.get(a)) - Number(order.get(b)),
        ),
        into,
      );
    }
    cluster = [];
  };
  for (const segment of byTime) {
    if (firstTime(segment) > end) close();
    cluster.push(segment);
    end = Math.max(end, lastTime(segment));
  }
  close();
}

/** Merges segments bar by bar. Of bars with equal times, the one whose segment is first in the list is used. */
function mergeCluster<S extends BarSegment>(ranked: readonly S[], into: MergedSegments<S>): void {
  const rows = ranked.map((segment) => segment.start);
  const times = ranked.map(firstTime);
  const runs = { used: runsInto(into.used), repeats: runsInto(into.repeats) };
  let last: { readonly at: number; readonly segment: S; readonly row: number } | undefined;
  for (let which = earliest(times); times[which] !== Number.POSITIVE_INFINITY; which = earliest(times)) {
    const segment = ranked[which] as S;
    const row = rows[which] as number;
    const at = times[which] as number;
    if (last?.at !== at) {
      runs.used.add(segment, row);
      last = { at, segment, row };
    } else if (isEqualBar(last.segment, last.row, segment, row)) into.equal += 1;
    else runs.repeats.add(segment, row);
    rows[which] = row + 1;
    times[which] =
      row + 1 < segment.end ? Number(segment.columns.timestamp[row + 1]) : Number.POSITIVE_INFINITY;
  }
  runs.used.close();
  runs.repeats.close();
}

/** Whether two bars with the same time come from different sources and have the same values. */
function isEqualBar(a: BarSegment, rowOfA: number, b: BarSegment, rowOfB: number): boolean {
  if (a.source === b.source) return false;
  if (a.columns.volume[rowOfA] !== b.columns.volume[rowOfB]) return false;
  return DOUBLE_COLUMNS.every((name) => {
    const [one, other] = [a.columns.doubles[name], b.columns.doubles[name]];
    const isHere = isPresent(one.validity, rowOfA);
    if (isHere !== isPresent(other.validity, rowOfB)) return false;
    const [value, otherValue] = [one.values[rowOfA], other.values[rowOfB]];
    return !isHere || value === otherValue || (Number.isNaN(value) && Number.isNaN(otherValue));
  });
}

/** The index of the smallest time; the first of several equal ones. */
function earliest(times: readonly number[]): number {
  let found = 0;
  for (let i = 1; i < times.length; i++) if ((times[i] as number) < (times[found] as number)) found = i;
  return found;
}

/** Collects rows. Consecutive rows of a segment become one segment. */
function runsInto<S extends BarSegment>(list: S[]): { add(segment: S, row: number): void; close(): void } {
  let open: S | undefined;
  let [start, end] = [0, 0];
  const close = (): void => {
    if (open !== undefined) list.push({ ...open, start, end });
    open = undefined;
  };
  return {
    add(segment, row) {
      if (segment !== open || row !== end) {
        close();
        open = segment;
        start = row;
      }
      end = row + 1;
    },
    close,
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Bars of one partition, in the order of its file. */
export interface BarPartition {
  readonly region: Region;
  readonly period: CalendarSpan;
  /** Segments by symbol, in the byte order of UTF-8, and then by time. No two bars have the same key. */
  readonly segments: readonly BarSegment[];
  readonly rows: number;
  /** Epoch milliseconds of the earliest bar. */
  readonly first: number;
  /** Epoch milliseconds of the latest bar. */
  readonly last: number;
}

export interface BarsPlan {
  /** Partitions by region, and within a region by period. */
  readonly partitions: readonly BarPartition[];
  readonly rejected: readonly RejectedSegment[];
  /** Bars with the same key as a used bar, from the same source or with other values. */
  readonly repeats: readonly BarSegment[];
  /** Number of bars that are in no other part, because a used bar of another source is equal. */
  readonly equal: number;
}

export interface BarsPlanOptions extends Pick<SplitRules, "finalEnd" | "possibleEnd"> {
  readonly unit: CalendarUnit;
}

/**
 * Decides which delivered bars are landed, in which partition and in which order. No bar is copied.
 *
 * @throws {TypeError} where the bars of a symbol are not together, or do not ascend in time.
 */
export function partitionBars(
  deliveries: readonly DeliveredBars[],
  { unit, finalEnd, possibleEnd }: BarsPlanOptions,
): BarsPlan {
  const split: SplitBars = { placed: [], rejected: [] };
  const periods = (region: Region) => calendarSpans(REGIONS[region].zone, unit);
  const periodOf = byRegion(periods);
  for (const delivered of deliveries)
    splitBars(delivered, { periodOf, isMinute: unit === "month", finalEnd, possibleEnd }, split);
  const repeats: PlacedSegment[] = [];
  let equal = 0;
  const partitions = [...groupsOf(split.placed)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, bySymbol]) => {
      const merged: MergedSegments<PlacedSegment> = { used: [], repeats, equal: 0 };
      for (const symbol of inByteOrder(bySymbol.keys()))
        mergeRepeats(bySymbol.get(symbol) as PlacedSegment[], merged);
      equal += merged.equal;
      return partitionOf(merged.used);
    });
  return { partitions, rejected: split.rejected, repeats, equal };
}

/** Segments by partition and by symbol, in the order of the delivery. */
function groupsOf(placed: readonly PlacedSegment[]): Map<string, Map<string, PlacedSegment[]>> {
  const groups = groupBy(placed, ({ region, period }) => `${region} ${period.first}`);
  return new Map([...groups].map(([key, own]) => [key, groupBy(own, ({ symbol }) => symbol)]));
}

function partitionOf(segments: readonly PlacedSegment[]): BarPartition {
  const { region, period } = segments[0] as PlacedSegment;
  let [rows, first, last] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const segment of segments) {
    rows += segment.end - segment.start;
    first = Math.min(first, firstTime(segment));
    last = Math.max(last, lastTime(segment));
  }
  return { region, period, segments, rows, first, last };
}
