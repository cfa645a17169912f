import { DAY_MS, MINUTE_MS, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { MINUTES_OF_A_DAY, reachMs, type Series } from "./series.js";

/** Factor by which the range grows from one step to the next. */
const GROWTH = 8;
/** Most ranges of a look back, including the last range, which covers everything. */
const STEPS = 3;

const STEP_WITHIN_DAY_MS = 5 * MINUTE_MS;

/** The inputs from which the ranges are computed. */
export interface LookBack {
  readonly series: Series;
  readonly region: Region;
  readonly count: number;
  /** Range of the labels of the requested bars. */
  readonly labels: TimeRange;
  /** Range of the bars that the table has. */
  readonly available: TimeRange;
  /**
   * An estimate of the time of the symbol's newest bar (epoch milliseconds). A wrong estimate makes reading slower, but
   * no bar is missed.
   */
  readonly newest?: number | undefined;
}

/**
 * The ranges of landed bars to read, in order, until the newest `count` bars are found; each includes the range before,
 * and the last one covers everything.
 */
export function lookBackRanges({ series, region, count, labels, available, newest }: LookBack): TimeRange[] {
  if (series === MINUTES_OF_A_DAY) return wholeDays(labels, available);
  const slack = series.bucketDays * DAY_MS;
  const start = Math.max(labels.start - slack, available.start);
  const end = Math.min(labels.end + slack, available.end);
  if (start >= end) return [];
  const ranges: TimeRange[] = [];
  const from = Math.min(labels.end, end, newest ?? end) - slack;
  for (let n = 0; n < STEPS - 1; n++) {
    const reach = reachMs(series, region, count) * GROWTH ** n;
    // Ranges are rounded to whole steps, so that symbols whose bars end within one step share a range and a choice of
    // files.
    const step = reach < DAY_MS ? STEP_WITHIN_DAY_MS : DAY_MS;
    const reached = Math.floor((from - reach) / step) * step;
    if (reached <= start) break;
    ranges.push({ start: reached, end });
  }
  return [...ranges, { start, end }];
}

/** Days of minutes are requested as whole days, so that their bars are whole, too. */
function wholeDays(labels: TimeRange, available: TimeRange): TimeRange[] {
  const start = Math.max(labels.start, available.start);
  const end = Math.min(labels.end, available.end);
  return start < end ? [{ start, end }] : [];
}
