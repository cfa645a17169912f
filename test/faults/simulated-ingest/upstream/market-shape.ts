import type { TradingDate } from "../../../../src/core/time.js";

/** A day of a region's exchanges; times in epoch milliseconds. */
export interface TrueDay {
  readonly date: TradingDate;
  /** Local midnight, and the next one. */
  readonly start: number;
  readonly end: number;
  readonly open: number;
  /** When the day's bars stop changing, except for corrections. */
  readonly settled: number;
}

/** The parameters of a market. */
export interface MarketShape {
  readonly seed: number;
  /** Number of weekdays before the last day of the market. */
  readonly days: number;
  /** Number of these, at the end, that have minute bars. */
  readonly minuteDays: number;
  /** The last point in time of any request, in epoch milliseconds: no session is open then. */
  readonly end: number;
  /** Whether the service corrects and withdraws bars long after they were final. @default false */
  readonly changesLate?: boolean;
}
