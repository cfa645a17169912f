import type { TradingDate } from "../core/time.js";
import type { Region } from "../market/regions.js";
import type { KlineColumns } from "../wire/kline-columns.js";
import type { ExchangeSummary, Instrument, StatementRecord, UniverseDetail } from "../wire/resources.js";
import type { SimInstrument } from "./instrument.js";
import { type MarketSpec, marketState } from "./market-state.js";
import { minuteBars } from "./minutes/minute-bars.js";
import {
  type AbsentStretch,
  type ActionVersion,
  type ExFactor,
  listAbsences,
  listActions,
  listExFactors,
} from "./prices/actions.js";
import { DAILY_BARS, makeBars } from "./prices/daily-bars.js";
import { latestVersions, listVersions, type StatementKind, type StatementVersion } from "./statements.js";
import { listExchanges, listInstruments, listUniverses } from "./universe.js";

export type { ActionVersion, ExFactor, MarketSpec, SimInstrument, StatementKind, StatementVersion };

/**
 * A simulated market. Its results about any instrument and day depend only on the {@link MarketSpec}.
 *
 * Bars are unadjusted. Their columns are ordered by symbol, then timestamp; requested symbols are not repeated, unknown
 * ones are left out, and a symbol without bars in the range is still in the dictionary. Volume is in the region's unit
 * (CN: lots of 100 shares; HK, US: shares). Every amount, as a decimal, is between volume x lot x low and volume x lot
 * x high; the quotient of the doubles can be outside by one unit in the last place.
 */
export interface Market {
  readonly spec: MarketSpec;
  /** Every instrument, including delisted ones; by region (CN, HK, US), then symbol. */
  readonly instruments: readonly SimInstrument[];
  /** As many as the spec says, ascending; the last one is at or before the end of the spec. */
  tradingDays(region: Region): readonly TradingDate[];
  /**
   * Daily bars from one date to another, both inclusive, labelled with local midnight. prev_close is present in all; on
   * an ex-date it is the last close minus the payout. A suspended day has no bar, or a bar with zeros for open, high,
   * low, volume and amount whose close is prev_close. Minutes are not computed.
   */
  dailyBars(symbols: readonly string[], from: TradingDate, to: TradingDate): KlineColumns;
  /** The days of suspensions without a bar, from one date to another, both inclusive; ordered by symbol, then day. */
  absences(symbols: readonly string[], from: TradingDate, to: TradingDate): AbsentStretch[];
  /**
   * One-minute bars of all trading days from one date to another, both inclusive, labelled with the END of the minute;
   * prev_close is null. The minutes of a day aggregate exactly to its daily bar. A minute without trades has volume 0
   * and the last price. The columns take about 85 bytes per bar, so symbols should be requested in groups.
   */
  minuteBars(symbols: readonly string[], from: TradingDate, to: TradingDate): KlineColumns;
  /** Dividends and splits with ex-dates from one date to another, both inclusive; ordered by symbol, then date. */
  exFactors(symbols: readonly string[], from: TradingDate, to: TradingDate): ExFactor[];
  /**
   * What was announced of each of these events: every version that was first seen by the end of the spec, ordered by
   * symbol, ex-date, action, then first seen. With the close before, the newest versions of a day's actions give the
   * factor of the event, within the rounding of its prev_close to a step.
   */
  actionVersions(symbols: readonly string[]): ActionVersion[];
  /** The metadata of the instruments that are listed on a date, as the service states it then. */
  instrumentsAsOf(date: TradingDate): Instrument[];
  /** Every universe with its members on a date, ascending. The members of the universes SIM_* change every quarter. */
  universesAsOf(date: TradingDate): UniverseDetail[];
  /** Every exchange, with the number of its instruments that are listed on a date. */
  exchangesAsOf(date: TradingDate): ExchangeSummary[];
  /**
   * The service's response on a date: by symbol, one record for each period announced by then, in the newest version,
   * ascending by period end. Symbols without records are left out. Flows are cumulated from the start of the year.
   */
  statements(
    kind: StatementKind,
    symbols: readonly string[],
    knownBy: TradingDate,
  ): Map<string, StatementRecord[]>;
  /** Every version that was first seen by the end of the spec; ordered by symbol, then period end, then first seen. */
  statementVersions(kind: StatementKind, symbols: readonly string[]): StatementVersion[];
}

/** @throws {UsageError} where a member of the spec is outside its bounds. */
export function simulateMarket(spec: MarketSpec): Market {
  const state = marketState(spec);
  return {
    spec,
    instruments: state.instruments,
    tradingDays: (region) => state.calendars[region].dates,
    dailyBars: (symbols, from, to) => makeBars(state, symbols, [from, to], DAILY_BARS),
    minuteBars: (symbols, from, to) => makeBars(state, symbols, [from, to], minuteBars(state.calendars)),
    absences: (symbols, from, to) => listAbsences(state, symbols, from, to),
    exFactors: (symbols, from, to) => listExFactors(state, symbols, from, to),
    actionVersions: (symbols) => listActions(state, symbols),
    instrumentsAsOf: (date) => listInstruments(state, date),
    universesAsOf: (date) => listUniverses(state, date),
    exchangesAsOf: (date) => listExchanges(state, date),
    statements: (kind, symbols, knownBy) => latestVersions(state, kind, symbols, knownBy),
    statementVersions: (kind, symbols) => listVersions(state, kind, symbols),
  };
}
