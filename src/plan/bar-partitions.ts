import { inByteOrder } from "../core/byte-order.js";
import { compareText } from "../core/text-order.js";
import { type CalendarSpan, type CalendarUnit, calendarSpans } from "../market/calendar-spans.js";
import { byRegion, REGIONS, type Region } from "../market/regions.js";
import { type BarSegment, type DeliveredBars, firstTime, lastTime } from "../wire/bar-segment.js";
import { type CutBars, type CutRules, cutBars, type PlacedSegment } from "./cut-bars.js";
import { type MergedSegments, mergeRepeats } from "./merge-repeats.js";

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

/** The parts into which delivered bars are divided. */
export interface BarsPlan {
  /** Partitions by region, and within a region by period. */
  readonly partitions: readonly BarPartition[];
  /** Bars that break a rule, and bars without a trade. */
  readonly broken: readonly BarSegment[];
  readonly idle: readonly BarSegment[];
  /** Bars with the same key as a used bar, from the same source or with other values. */
  readonly repeats: readonly BarSegment[];
  /** Number of bars that are in no other part, because a used bar of another source is equal. */
  readonly equal: number;
}

export interface BarsPlanOptions extends Pick<CutRules, "finalEnd" | "possibleEnd"> {
  /** The period that a partition covers. */
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
  const cut: CutBars = { placed: [], broken: [], idle: [] };
  const periods = (region: Region) => calendarSpans(REGIONS[region].zone, unit);
  const periodOf = byRegion(periods);
  for (const delivered of deliveries)
    cutBars(delivered, { periodOf, isMinute: unit === "month", finalEnd, possibleEnd }, cut);
  const repeats: PlacedSegment[] = [];
  let equal = 0;
  const partitions = [...groupsOf(cut.placed)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, bySymbol]) => {
      const merged: MergedSegments<PlacedSegment> = { used: [], repeats, equal: 0 };
      for (const symbol of inByteOrder(bySymbol.keys()))
        mergeRepeats(bySymbol.get(symbol) as PlacedSegment[], merged);
      equal += merged.equal;
      return partitionOf(merged.used);
    });
  return { partitions, broken: cut.broken, idle: cut.idle, repeats, equal };
}

/** Segments by partition and by symbol, in the order of the delivery. */
function groupsOf(placed: readonly PlacedSegment[]): Map<string, Map<string, PlacedSegment[]>> {
  const groups = new Map<string, Map<string, PlacedSegment[]>>();
  for (const segment of placed) {
    const key = `${segment.region} ${segment.period.first}`;
    let symbols = groups.get(key);
    if (symbols === undefined) groups.set(key, (symbols = new Map()));
    const own = symbols.get(segment.symbol);
    if (own === undefined) symbols.set(segment.symbol, [segment]);
    else own.push(segment);
  }
  return groups;
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
