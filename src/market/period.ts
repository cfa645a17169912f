/** Every K-line period of the interface, shortest first. */
export const PERIODS = ["1m", "5m", "10m", "15m", "30m", "60m", "1d", "1w", "1M", "1Q", "1Y"] as const;
export type Period = (typeof PERIODS)[number];

/** The periods that are landed; all others are aggregated from them. */
export type LandedPeriod = "1m" | "1d";

/** Every price adjustment of the interface. */
export const ADJUSTMENTS = ["forward", "backward", "forward_additive", "backward_additive", "none"] as const;
export type Adjustment = (typeof ADJUSTMENTS)[number];

/** The landed period that a period is aggregated from: minutes from 1m, days and longer from 1d. */
export function basePeriod(period: Period): LandedPeriod {
  return period.endsWith("m") ? "1m" : "1d";
}

/** What a bar is made of: one landed bar, the bars of some session minutes, or the bars of a calendar unit. */
export type Bucket =
  | { readonly kind: "landed" }
  | { readonly kind: "minutes"; readonly minutes: number }
  | { readonly kind: "calendar"; readonly unit: "day" | "week" | "month" | "quarter" | "year" };

/** What the bars of each period are made of. */
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
