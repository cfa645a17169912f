import { UsageError } from "../core/errors.js";
import { epochDay, parseTradingDate, type TradingDate } from "../core/time.js";
import type { Region } from "../market/regions.js";
import { makeInstruments, type SimInstrument } from "./instrument.js";
import { type PricePath, walkPrices } from "./prices/price-path.js";
import { mix } from "./random.js";
import { dayIndexAtOrAfter, type RegionCalendar, regionCalendar } from "./trading-days.js";

/** The inputs of a simulated market. Equal specs give equal markets. */
export interface MarketSpec {
  /** Any integer. */
  readonly seed: number;
  /** Number of instruments, including delisted ones; 1 to 20,000. */
  readonly symbols: number;
  /** Number of trading days of history for each region; 1 to 20,000. */
  readonly days: number;
  /** Last calendar date of the history, inclusive. */
  readonly end: TradingDate;
}

export interface MarketState {
  readonly spec: MarketSpec;
  readonly calendars: Readonly<Record<Region, RegionCalendar>>;
  readonly instruments: readonly SimInstrument[];
  readonly bySymbol: ReadonlyMap<string, SimInstrument>;
  /** The daily path of an instrument. It is computed once and then cached (9 bytes per day). */
  pathOf(instrument: SimInstrument): PricePath;
}

/** A range of day indexes: `start` inclusive, `end` exclusive. */
export interface DayRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Calendars and instruments, but no prices yet. @throws {UsageError} where a member of the spec is outside its bounds.
 */
export function marketState(spec: MarketSpec): MarketState {
  checkBounds("seed", spec.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  checkBounds("symbols", spec.symbols, 1, 20_000);
  checkBounds("days", spec.days, 1, 20_000);
  const end = parseTradingDate(spec.end);
  const seed = mix(spec.seed | 0, Math.floor(spec.seed / 2 ** 32) | 0);
  const calendars = {
    CN: regionCalendar("CN", seed, spec.days, end),
    HK: regionCalendar("HK", seed, spec.days, end),
    US: regionCalendar("US", seed, spec.days, end),
  };
  const instruments = makeInstruments(seed, spec.symbols, calendars);
  const paths = new Map<string, PricePath>();
  return {
    spec,
    calendars,
    instruments,
    bySymbol: new Map(instruments.map((instrument) => [instrument.symbol, instrument])),
    pathOf(instrument) {
      let path = paths.get(instrument.symbol);
      if (path === undefined) {
        path = walkPrices(instrument, calendars[instrument.region]);
        paths.set(instrument.symbol, path);
      }
      return path;
    },
  };
}

export function instrumentsOf(state: MarketState, symbols: readonly string[]): SimInstrument[] {
  return [...new Set(symbols)].sort().flatMap((symbol) => state.bySymbol.get(symbol) ?? []);
}

/** The range of days between two dates, both inclusive, on which an instrument is listed. */
export function daysBetween(
  state: MarketState,
  instrument: SimInstrument,
  from: TradingDate,
  to: TradingDate,
): DayRange {
  const calendar = state.calendars[instrument.region];
  const start = Math.max(instrument.start, dayIndexAtOrAfter(calendar, epochDay(from)));
  const end = Math.min(instrument.end, dayIndexAtOrAfter(calendar, epochDay(to) + 1));
  return { start, end: Math.max(start, end) };
}

export function isListed(instrument: SimInstrument, date: TradingDate): boolean {
  return instrument.listed <= date && (instrument.delisted === undefined || date < instrument.delisted);
}

function checkBounds(name: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new UsageError(`${name} ${value} is not an integer from ${least} to ${most}`);
}
