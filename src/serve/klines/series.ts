import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import { basePeriod, type Period } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";

/** What a bar is made of: one landed bar, the bars of some session minutes, or those of a stretch of the calendar. */
export type Bucket =
  | { readonly kind: "landed" }
  | { readonly kind: "minutes"; readonly minutes: number }
  | { readonly kind: "calendar"; readonly unit: "day" | "week" | "month" | "quarter" | "year" };

/** How bars of a period are made. */
export interface Series {
  /** The table of the landed bars. */
  readonly table: TableSchema;
  readonly bucket: Bucket;
  /** The longest stretch of time that one bar can be made of, in days; 0 where it is one landed bar. */
  readonly bucketDays: number;
}

const BUCKETS: Readonly<Record<Period, readonly [bucket: Bucket, days: number]>> = {
  "1m": [{ kind: "landed" }, 0],
  "5m": [{ kind: "minutes", minutes: 5 }, 1],
  "10m": [{ kind: "minutes", minutes: 10 }, 1],
  "15m": [{ kind: "minutes", minutes: 15 }, 1],
  "30m": [{ kind: "minutes", minutes: 30 }, 1],
  "60m": [{ kind: "minutes", minutes: 60 }, 1],
  "1d": [{ kind: "landed" }, 0],
  "1w": [{ kind: "calendar", unit: "week" }, 7],
  "1M": [{ kind: "calendar", unit: "month" }, 31],
  "1Q": [{ kind: "calendar", unit: "quarter" }, 92],
  "1Y": [{ kind: "calendar", unit: "year" }, 366],
};

/** How bars of a period of the interface are made. */
export function seriesOf(period: Period): Series {
  const [bucket, bucketDays] = BUCKETS[period];
  return { table: basePeriod(period) === "1m" ? BARS_1M : BARS_1D, bucket, bucketDays };
}

/** Minute bars, each trading date's as one bar. */
export const MINUTES_OF_A_DAY: Series = {
  table: BARS_1M,
  bucket: { kind: "calendar", unit: "day" },
  bucketDays: 1,
};

/**
 * A guess at how far back `count` bars reach, in milliseconds. Not a bound: a symbol that was suspended or trades
 * seldom has fewer.
 */
export function reachMs(series: Series, region: Region, count: number): number {
  if (series.table === BARS_1D) {
    const bars = series.bucket.kind === "landed" ? (count * 7) / 5 : count * series.bucketDays;
    return Math.ceil(bars * 1.04 + 7) * DAY_MS;
  }
  const minutes = series.bucket.kind === "minutes" ? series.bucket.minutes : 1;
  const barsPerDay =
    series.bucket.kind === "calendar" ? 1 : Math.floor(SESSION_HOURS[region].barsPerDay / minutes);
  const days = Math.ceil(count / barsPerDay);
  if (days > 1) return Math.ceil((days * 7) / 5 + 3) * DAY_MS;
  if (series.bucket.kind === "calendar") return DAY_MS;
  return Math.min(DAY_MS, (count * minutes * 2 + 10) * MINUTE_MS);
}
