/** A day on which the exchange restated the previous close: a dividend, a split, a rights issue. */
export interface ExEvent {
  /** The ex-date, in days since 1970-01-01. */
  readonly day: number;
  /** Close of the previous bar, divided by the previous close that the exchange states. */
  readonly factor: number;
  /** Close of the previous bar, minus the previous close that the exchange states. */
  readonly amount: number;
}

/** The least relative difference of the two closes that makes an ex-event. Smaller differences are rounding errors. */
export const LEAST_EX_CHANGE = 1e-9;

/**
 * The factor of a day: {@link ExEvent.factor} where it is an ex-date, else 1.
 *
 * @param lastClose close of the previous bar; 0 or NaN where there is none.
 * @param prevClose previous close as the exchange states it; not a positive finite number where it states none.
 */
export function exFactor(lastClose: number, prevClose: number): number {
  if (!(prevClose > 0 && prevClose < Number.POSITIVE_INFINITY && lastClose > 0)) return 1;
  const factor = lastClose / prevClose;
  return Number.isFinite(factor) && Math.abs(factor - 1) >= LEAST_EX_CHANGE ? factor : 1;
}
