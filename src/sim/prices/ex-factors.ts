import type { TradingDate } from "../../core/time.js";
import { instrumentsOf, type MarketState } from "../market-state.js";

/** A dividend or split, with its factor. */
export interface ExFactor {
  readonly symbol: string;
  /** First trading date without the payout. */
  readonly date: TradingDate;
  /** Local midnight of the date, epoch milliseconds. */
  readonly timestampMs: number;
  /** Close of the previous day / prev_close of the ex-date. */
  readonly factor: number;
}

/** Lists the events from one date to another; see {@link Market.exFactors}. */
export function listExFactors(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): ExFactor[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => {
    const { dates, midnights } = state.calendars[instrument.region];
    return state
      .pathOf(instrument)
      .events.map(({ dayIndex, lastCloseMilli, referenceMilli }) => ({
        symbol: instrument.symbol,
        date: dates[dayIndex] as TradingDate,
        timestampMs: midnights[dayIndex] as number,
        factor: lastCloseMilli / referenceMilli,
      }))
      .filter(({ date }) => from <= date && date <= to);
  });
}
