import { subtractRanges, type TimeRange, unionRanges } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { daysOverlapped, type TradingDays } from "../../market/trading-days.js";
import { barsPerDay } from "../request-units.js";

/** The time that earlier responses have settled. */
export interface CoveredTime {
  /** Returns the parts of a symbol's range that have a trading day and no response, ascending. */
  readonly uncovered: (symbol: string, range: TimeRange) => readonly TimeRange[];
  /** Returns the most bars that a symbol can have in a range. */
  readonly bars: (range: TimeRange) => number;
}

/** For a symbol that was never requested before. */
export const NOTHING_COVERED: CoveredTime = { uncovered: (_, range) => [range], bars: () => 0 };

/** The facts from which covered time is computed. */
interface CoverageFacts {
  readonly region: Region;
  readonly period: LandedPeriod;
  /** Returns the trading days of a range, ascending. */
  readonly daysIn: (range: TimeRange) => TradingDays;
  /** Windows with a response of final bars, by symbol. */
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
}

/** The time that is covered by windows with a response. */
export function coveredTime({ region, period, daysIn, covered }: CoverageFacts): CoveredTime {
  return {
    uncovered: (symbol, range) => {
      const rests = subtractRanges(range, covered.get(symbol) ?? []);
      if (rests.length === 0) return rests;
      const days = daysIn(range);
      return rests.filter((rest) => {
        const { first, end } = daysOverlapped(days, rest);
        return first < end;
      });
    },
    bars: (range) => daysIn(range).length * barsPerDay(region, period),
  };
}

/** The time of a window before the oldest known bar of a symbol. */
export interface OlderTime {
  /** The window ends at the known bar. */
  readonly window: TimeRange;
  /** The parts of the window without a response, ascending. */
  readonly uncovered: readonly TimeRange[];
}

/**
 * Where a request for older bars of some symbols begins. A response that is cut has the newest bars, so covered time
 * takes space in it before time that is not covered. Covered time that is common to all symbols and would fill a
 * response is not requested again; the time before it becomes a new request. This never needs more requests in total.
 *
 * @param most most bars of a symbol in one response, as far as it is known.
 * @returns the start of the first uncovered part that is requested.
 */
export function olderBarsSince(times: readonly OlderTime[], most: number, bars: CoveredTime["bars"]): number {
  let since = Math.max(...times.map(({ window }) => window.end));
  for (const part of unionRanges(times.flatMap(({ uncovered }) => uncovered)).toReversed()) {
    if (part.end < since && bars({ start: part.end, end: since }) >= most) break;
    since = Math.min(since, part.start);
  }
  return since;
}
