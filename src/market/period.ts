/** Every K-line period of the interface, shortest first. */
export const PERIODS = ["1m", "5m", "10m", "15m", "30m", "60m", "1d", "1w", "1M", "1Q", "1Y"] as const;
/** Length of a bar: `m` minutes, `d` day, `w` week, `M` month, `Q` quarter, `Y` year. */
export type Period = (typeof PERIODS)[number];

/** The periods that are landed. All other periods are aggregated from them. */
export type LandedPeriod = "1m" | "1d";

/** Every price adjustment of the interface. */
export const ADJUSTMENTS = ["forward", "backward", "forward_additive", "backward_additive", "none"] as const;
/**
 * How prices are adjusted for ex-events: `forward` divides prices before an ex-date by its factor, `backward`
 * multiplies prices from the ex-date on; the additive forms subtract or add the difference instead.
 */
export type Adjustment = (typeof ADJUSTMENTS)[number];

/** The landed period from which a period is aggregated: 1m for minutes, 1d for days and longer periods. */
export function basePeriod(period: Period): LandedPeriod {
  return period.endsWith("m") ? "1m" : "1d";
}
