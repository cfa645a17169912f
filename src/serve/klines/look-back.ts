import { DAY_MS, MINUTE_MS, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { reachMs, type Series } from "./series.js";

/** How much further each look back goes than the one before. */
const GROWTH = 8;
/** Looks before everything is read. */
const LOOKS = 3;

const STEP_WITHIN_DAY_MS = 5 * MINUTE_MS;

/** What a look back starts from. */
export interface LookBack {
  readonly series: Series;
  readonly region: Region;
  readonly count: number;
  /** Range that the bars' own timestamps must lie in. */
  readonly labels: TimeRange;
  /** Range of the bars that the table has. */
  readonly available: TimeRange;
  /** A guess at the symbol's newest bar, epoch milliseconds: where it is wrong, more is read, and nothing missed. */
  readonly newest?: number | undefined;
}

/**
 * The ranges of landed bars to read, one after the other, until the newest `count` bars are found; each holds the one
 * before, and the last is all there is.
 */
export function lookBackRanges({ series, region, count, labels, available, newest }: LookBack): TimeRange[] {
  const slack = series.bucketDays * DAY_MS;
  const start = Math.max(labels.start - slack, available.start);
  const end = Math.min(labels.end + slack, available.end);
  if (start >= end) return [];
  const ranges: TimeRange[] = [];
  const from = Math.min(labels.end, end, newest ?? end) - slack;
  for (let look = 0; look < LOOKS - 1; look++) {
    const reach = reachMs(series, region, count) * GROWTH ** look;
    // Whole steps: symbols whose bars end within one then share a range, and the choice of files.
    const step = reach < DAY_MS ? STEP_WITHIN_DAY_MS : DAY_MS;
    const reached = Math.floor((from - reach) / step) * step;
    if (reached <= start) break;
    ranges.push({ start: reached, end });
  }
  return [...ranges, { start, end }];
}
