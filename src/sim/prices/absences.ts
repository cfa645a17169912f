import type { TradingDate } from "../../core/time.js";
import { daysBetween, instrumentsOf, type MarketState } from "../market-state.js";
import { DAY_KIND } from "./price-path.js";

/** Consecutive sessions without a bar of a symbol: the first day, and the day after the last one, since 1970-01-01. */
export interface AbsentStretch {
  readonly symbol: string;
  readonly first: number;
  readonly end: number;
}

/** Lists the stretches of absent days; see {@link Market.absences}. */
export function listAbsences(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): AbsentStretch[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => {
    const { symbol, region } = instrument;
    const { epochDays } = state.calendars[region];
    const { kind } = state.pathOf(instrument);
    const { start, end } = daysBetween(state, instrument, from, to);
    const isAbsent = (day: number): boolean => kind[day - instrument.start] === DAY_KIND.suspendedAbsent;
    const stretches: AbsentStretch[] = [];
    for (let day = start; day < end; day++) {
      if (!isAbsent(day)) continue;
      const first = epochDays[day] as number;
      while (day + 1 < end && isAbsent(day + 1)) day++;
      stretches.push({ symbol, first, end: (epochDays[day] as number) + 1 });
    }
    return stretches;
  });
}
