import type { Period } from "./period.js";

/** A calendar unit whose daily bars are aggregated into one bar. */
export type BucketUnit = "day" | "week" | "month" | "quarter" | "year";

/** What a bar is made from: one landed bar, the bars of a number of session minutes, or the bars of a calendar unit. */
export type Bucket =
  | { readonly kind: "landed" }
  | { readonly kind: "minutes"; readonly minutes: number }
  | { readonly kind: "calendar"; readonly unit: BucketUnit };

/** What the bars of each period are made from. */
export const BUCKETS: Readonly<Record<Period, Bucket>> = {
  "1m": { kind: "landed" },
  "5m": { kind: "minutes", minutes: 5 },
  "10m": { kind: "minutes", minutes: 10 },
  "15m": { kind: "minutes", minutes: 15 },
  "30m": { kind: "minutes", minutes: 30 },
  "60m": { kind: "minutes", minutes: 60 },
  "1d": { kind: "landed" },
  "1w": { kind: "calendar", unit: "week" },
  "1M": { kind: "calendar", unit: "month" },
  "1Q": { kind: "calendar", unit: "quarter" },
  "1Y": { kind: "calendar", unit: "year" },
};

/** The longest time that a bar of a bucket can cover, in days; 0 for one landed bar. */
export function longestDays(bucket: Bucket): number {
  if (bucket.kind === "landed") return 0;
  return bucket.kind === "minutes" ? 1 : { day: 1, week: 7, month: 31, quarter: 92, year: 366 }[bucket.unit];
}
