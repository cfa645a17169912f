/** A day on which the exchange restated the previous close: a dividend, a split, a rights issue. */
export interface ExEvent {
  /** The ex-date, in days since 1970-01-01. */
  readonly day: number;
  /** Close of the bar before, divided by the previous close that the exchange states. */
  readonly factor: number;
  /** Close of the bar before, less the previous close that the exchange states. */
  readonly amount: number;
}
