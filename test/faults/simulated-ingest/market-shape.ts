import type { TradingDate } from "../../../src/core/time.js";

/** A day of a region's exchanges; times in epoch milliseconds. */
export interface TrueDay {
  readonly date: TradingDate;
  /** Local midnight, and the next one. */
  readonly start: number;
  readonly end: number;
  readonly open: number;
  /** When the day's bars stop changing, but for corrections. */
  readonly settled: number;
}

/** What a market is made from. */
export interface MarketShape {
  readonly seed: number;
  /** Weekdays before the last of the market. */
  readonly days: number;
  /** Of these, the last that have minute bars. */
  readonly minuteDays: number;
  /** The last moment that is asked about, in epoch milliseconds: no session runs then. */
  readonly end: number;
  /** Whether the service corrects and withdraws bars long after they were final. @default false */
  readonly changesLate?: boolean;
}
