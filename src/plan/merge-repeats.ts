import { isPresent } from "../core/bits.js";
import { type BarSegment, firstTime, lastTime } from "../wire/bar-segment.js";
import { DOUBLE_COLUMNS } from "../wire/kline-columns.js";

/** Segments without repeats, and the bars that were repeats. */
export interface MergedSegments<S extends BarSegment> {
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
export function mergeRepeats<S extends BarSegment>(segments: readonly S[], into: MergedSegments<S>): void {
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
