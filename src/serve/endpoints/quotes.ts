import { setImmediate } from "node:timers/promises";
import type { TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { closeMinute, finalEnd, type SessionStatus, sessionStatus } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import type { TradingCalendar } from "../../market/trading-calendar.js";
import { instantOf, localDate } from "../../market/zone.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import { encodeQuotes } from "../../wire/encode/encode-quotes.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument, Quote } from "../../wire/resources.js";
import { type LastBar, type QuoteBars, type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import { MOST_QUOTES } from "../klines/quote-texts.js";
import type { LakeView } from "../read/lake-reader.js";
import { EXT_TYPE, REFERENCE_TABLES } from "../read/reference-data.js";
import { type EndpointHandler, TextResponse } from "./response.js";

/**
 * Dates and closing times of a region at the time of a request, cached: computing them is slow, and the bars of a
 * universe share a few timestamps.
 */
class RegionDates {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly region: Region;
  readonly status: SessionStatus;
  /** The start of the region's first day that is not final yet, in epoch milliseconds. */
  readonly finalEnd: number;
  readonly #calendar: TradingCalendar;
  readonly #dates = new Map<number, TradingDate>();
  readonly #closes = new Map<TradingDate, number>();
  readonly #neighbours = new Map<TradingDate, Map<TradingDate, boolean>>();

  constructor(now: number, region: Region, calendar: TradingCalendar) {
    this.now = now;
    this.region = region;
    this.#calendar = calendar;
    this.status = sessionStatus(region, now, (date) => calendar.isOpen(date));
    this.finalEnd = finalEnd(region, now);
  }

  /** The trading date of a bar. @param timestamp epoch milliseconds. */
  of(timestamp: number): TradingDate {
    return once(this.#dates, timestamp, () => localDate(timestamp, REGIONS[this.region].zone));
  }

  isToday(timestamp: number): boolean {
    return this.of(timestamp) === this.of(this.now);
  }

  areNeighbours(before: TradingDate, date: TradingDate): boolean {
    const later = once(this.#neighbours, before, () => new Map<TradingDate, boolean>());
    return once(later, date, () => this.#calendar.areNeighbours(before, date));
  }

  /** The time at which the last session of a day ends, in epoch milliseconds. */
  closeOf(date: TradingDate): number {
    return once(this.#closes, date, () =>
      instantOf(date, REGIONS[this.region].zone, closeMinute(this.region)),
    );
  }
}

function once<K, V>(values: Map<K, V>, key: K, make: () => V): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

interface MadeQuote {
  readonly quote: Quote;
  readonly isTimed: boolean;
}

function quoteOf(
  symbol: string,
  bars: QuoteBars,
  instrument: Instrument | undefined,
  dates: RegionDates,
): MadeQuote | undefined {
  const facts = quoteFacts(bars, dates);
  if (facts === undefined) return undefined;
  const isHalted = dates.status !== "closed" && isSuspended(facts.bar) && dates.isToday(facts.timestamp);
  return {
    quote: quoteFrom(symbol, dates.region, facts, instrument, isHalted ? "halted" : dates.status),
    isTimed: facts.timestamp === dates.now,
  };
}

interface QuoteFacts {
  readonly bar: LastBar;
  readonly timestamp: number;
  /** Undefined where neither the bar nor the previous session has it. */
  readonly prevClose: number | undefined;
}

/**
 * From the daily bar once the day is final, otherwise from the minutes. The quote's time is that of the last minute, or
 * the close. The previous close is the one in the bar, else the close of the previous session, not of an older one.
 */
function quoteFacts({ daily, minutes }: QuoteBars, dates: RegionDates): QuoteFacts | undefined {
  const newest = daily.at(-1);
  const dayOf = (bar: LastBar): TradingDate => dates.of(bar.timestamp);
  const sameDay = newest !== undefined && minutes !== undefined && dayOf(newest) === dayOf(minutes);
  const closeBefore = (bar: LastBar, before: LastBar | undefined): number | undefined =>
    before !== undefined && dates.areNeighbours(dayOf(before), dayOf(bar)) ? before.close : undefined;
  if (minutes !== undefined && !(sameDay && newest.timestamp < dates.finalEnd)) {
    const before = sameDay ? daily.at(-2) : newest;
    const stated = minutes.prevClose ?? (sameDay ? newest.prevClose : null);
    return { bar: minutes, timestamp: minutes.timestamp, prevClose: stated ?? closeBefore(minutes, before) };
  }
  if (newest === undefined) return undefined;
  const closesAt = dates.closeOf(dayOf(newest));
  const timestamp = sameDay ? minutes.timestamp : Math.min(closesAt, Math.max(dates.now, newest.timestamp));
  return { bar: newest, timestamp, prevClose: newest.prevClose ?? closeBefore(newest, daily.at(-2)) };
}

function quoteFrom(
  symbol: string,
  region: Region,
  { bar, timestamp, prevClose }: QuoteFacts,
  instrument: Instrument | undefined,
  session: Quote["session"],
): Quote {
  return {
    symbol,
    region,
    session,
    last_price: bar.close,
    open: bar.open,
    high: bar.high,
    low: bar.low,
    prev_close: prevClose ?? 0,
    volume: bar.volume,
    amount: bar.amount,
    timestamp,
    ext: {
      type: EXT_TYPE[region],
      name: instrument?.name || undefined,
      change_amount: prevClose === undefined ? undefined : bar.close - prevClose,
      change_pct: ratio(bar.close - (prevClose ?? 0), prevClose),
      amplitude: ratio(bar.high - bar.low, prevClose),
      turnover_rate: ratio(bar.volume * REGIONS[region].lot, instrument?.ext?.float_shares),
    },
  };
}

function ratio(part: number, whole: unknown): number | undefined {
  return typeof whole === "number" && whole > 0 ? part / whole : undefined;
}

/** Services deliver a day on which a symbol was suspended with prices of 0, and no trade. */
function isSuspended({ open, high, low, volume }: LastBar): boolean {
  return volume === 0 && open === 0 && high === 0 && low === 0;
}

export const QUOTE_TABLES = [BARS_1D, BARS_1M, TRADING_DAYS, ...REFERENCE_TABLES];
/** Number of rows that take as much memory as one quote with its temporary objects. */
const ROWS_OF_A_QUOTE = 100;
/** Quotes that are made and encoded in one turn: it limits their temporary objects, and how long others wait. */
const QUOTES_AT_ONCE = 500;

/** `POST` and `GET /v1/quotes`: from each symbol's newest bars. A symbol without bars is left out. */
export function quoteHandlers(read: ReadQuoteBars): Record<"quotes" | "quotesOf", EndpointHandler> {
  return {
    quotes: (view, { body }) => quotes(view, parseParameters(PARAMETERS.quotes, body), read),
    quotesOf: (view, { query }) => quotes(view, parseParameters(PARAMETERS.quotesOf, query), read),
  };
}

async function quotes(
  view: LakeView,
  asked: {
    readonly symbols?: readonly string[] | undefined;
    readonly universes?: readonly string[] | undefined;
  },
  read: ReadQuoteBars,
): Promise<TextResponse> {
  const scope = await view.scope();
  scope.checkSymbols(asked.symbols ?? []);
  scope.checkUniverses(asked.universes ?? []);
  const members = await view.members();
  const listed = (asked.universes ?? []).flatMap((id) => members.get(id) ?? []);
  const symbols = [...new Set([...(asked.symbols ?? []), ...listed])];
  return new TextResponse(`{"data":[${[...(await quoteTexts(view, symbols, read)).values()].join()}]}`);
}

/** The quote of each symbol, as JSON; a symbol without bars is left out. @param read @default from the lake */
export async function quoteTexts(
  view: LakeView,
  symbols: readonly string[],
  read: ReadQuoteBars = readQuoteBars,
): Promise<ReadonlyMap<string, string>> {
  await view.acquireMemory(symbols.length * ROWS_OF_A_QUOTE);
  const datesOf = await regionDates(view);
  const cached = await cachedTexts(view, datesOf);
  const missing = symbols.filter((symbol) => {
    const region = regionOf(symbol);
    return region !== undefined && cached(region)?.has(symbol) !== true;
  });
  const made = await makeQuotes(view, missing, { datesOf, cached, read });
  const texts = new Map<string, string>();
  for (const symbol of symbols) {
    const region = regionOf(symbol);
    const text = region && (made.get(symbol) ?? cached(region)?.get(symbol));
    if (text !== undefined) texts.set(symbol, text);
  }
  return texts;
}

type DatesOf = (region: Region) => RegionDates;

async function regionDates(view: LakeView): Promise<DatesOf> {
  const calendars = await view.calendars();
  return perRegion((region) => new RegionDates(view.now, region, calendars[region]));
}

/** The cached quotes of a region; undefined where none are cached. */
type CachedTexts = (region: Region) => Map<string, string> | undefined;

/** The cached quotes of each region. In a replay quotes change with each minute, so none are cached. */
async function cachedTexts(
  { version, now, quoteTexts: all }: LakeView,
  datesOf: DatesOf,
): Promise<CachedTexts> {
  if (version.visibleUntil !== undefined) return () => undefined;
  const versions = await version.stateOf(QUOTE_TABLES);
  return perRegion((region) => {
    const dates = datesOf(region);
    return all.of(region, [versions, dates.status, dates.of(now), dates.finalEnd].join(" "), now);
  });
}

function perRegion<T>(make: (region: Region) => T): (region: Region) => T {
  const known = new Map<Region, T>();
  return (region) => once(known, region, () => make(region));
}

/** Makes the quotes of symbols, and caches those that do not depend on the time of the request. */
async function makeQuotes(
  view: LakeView,
  symbols: readonly string[],
  { datesOf, cached, read }: { datesOf: DatesOf; cached: CachedTexts; read: ReadQuoteBars },
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  if (symbols.length === 0) return texts;
  const { instruments } = await view.reference();
  const barsAt = await read(view, symbols);
  for (let start = 0; start < symbols.length; start += QUOTES_AT_ONCE) {
    // In a replay, another request could advance the bars to a later minute: all quotes are made in one turn.
    if (start > 0 && view.version.visibleUntil === undefined) await setImmediate();
    const made: MadeQuote[] = [];
    for (let index = start; index < Math.min(symbols.length, start + QUOTES_AT_ONCE); index++) {
      const symbol = symbols[index] as string;
      const region = regionOf(symbol) as Region;
      // Another request may have made it at the same time.
      if (cached(region)?.has(symbol) === true) continue;
      const dates = datesOf(region);
      const one = quoteOf(symbol, barsAt(index), instruments.get(symbol), dates);
      if (one !== undefined) made.push(one);
    }
    for (const [index, text] of encodeQuotes(made.map(({ quote }) => quote)).entries()) {
      const { quote, isTimed } = made[index] as MadeQuote;
      texts.set(quote.symbol, text);
      const known = cached(quote.region as Region);
      if (!isTimed && known !== undefined && known.size < MOST_QUOTES) known.set(quote.symbol, text);
    }
  }
  return texts;
}
