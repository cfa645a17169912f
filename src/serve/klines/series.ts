import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import { BUCKETS, type Bucket, longestDays } from "../../market/bucket.js";
import { basePeriod, type Period } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";

/** How the bars of a period are built. */
export interface Series {
  /** The table of the landed bars. */
  readonly table: TableSchema;
  readonly bucket: Bucket;
  /** The longest time that one bar can cover, in days; 0 where a bar is one landed bar. */
  readonly bucketDays: number;
}

/** How the bars of a period of the interface are built. */
export function seriesOf(period: Period): Series {
  const bucket = BUCKETS[period];
  return { table: basePeriod(period) === "1m" ? BARS_1M : BARS_1D, bucket, bucketDays: longestDays(bucket) };
}

/** The minute bars of each trading date, aggregated into one bar. It is requested in ranges of whole local days. */
export const MINUTES_OF_A_DAY: Series = {
  table: BARS_1M,
  bucket: { kind: "calendar", unit: "day" },
  bucketDays: 1,
};

/**
 * An estimate of how far back `count` bars reach, in milliseconds. It is not an upper bound: a symbol that was
 * suspended or rarely trades has fewer bars.
 */
export function reachMs(series: Series, region: Region, count: number): number {
  if (series.table === BARS_1D) {
    const bars = series.bucket.kind === "landed" ? (count * 7) / 5 : count * series.bucketDays;
    return Math.ceil(bars * 1.04 + 7) * DAY_MS;
  }
  const minutes = series.bucket.kind === "minutes" ? series.bucket.minutes : 1;
  const barsPerDay = Math.floor(SESSION_HOURS[region].barsPerDay / minutes);
  const days = Math.ceil(count / barsPerDay);
  if (days > 1) return Math.ceil((days * 7) / 5 + 3) * DAY_MS;
  return Math.min(DAY_MS, (count * minutes * 2 + 10) * MINUTE_MS);
}
