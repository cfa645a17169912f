/** Every K-line period of the interface, shortest first. */
export const PERIODS = ["1m", "5m", "10m", "15m", "30m", "60m", "1d", "1w", "1M", "1Q", "1Y"] as const;
/** Length of a bar: `m` minutes, `d` day, `w` week, `M` month, `Q` quarter, `Y` year. */
export type Period = (typeof PERIODS)[number];

/** The periods that are landed. All other periods are aggregated from them. */
export type LandedPeriod = "1m" | "1d";

/**
 * How prices are adjusted for ex-events: `forward` divides prices before an ex-date by its factor, `backward`
 * multiplies prices from the ex-date on; the additive forms subtract or add the difference instead.
 */
export const ADJUSTMENTS = ["forward", "backward", "forward_additive", "backward_additive", "none"] as const;
/** See {@link ADJUSTMENTS}. */
export type Adjustment = (typeof ADJUSTMENTS)[number];

/** The landed period from which a period is aggregated: 1m for minutes, 1d for days and longer periods. */
export function basePeriod(period: Period): LandedPeriod {
  return period.endsWith("m") ? "1m" : "1d";
}

/** A calendar unit whose daily bars are aggregated into one bar. */
export type BucketUnit = "day" | "week" | "month" | "quarter" | "year";

/** What a bar is made from: one landed bar, the bars of a number of session minutes, or the bars of a calendar unit. */
export type Bucket =
  | { readonly kind: "landed" }
  | { readonly kind: "minutes"; readonly minutes: number }
  | { readonly kind: "calendar"; readonly unit: BucketUnit };

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
