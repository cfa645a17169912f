import type { TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { type SessionStatus, sessionStatus } from "../../market/session-status.js";
import { closeMinute, finalEnd } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import { jsonText } from "../../wire/encode/json-text.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument, Quote } from "../../wire/resources.js";
import { MOST_QUOTES } from "../klines/cached/quote-texts.js";
import type { LastBar } from "../klines/last-bars.js";
import { type QuoteBars, type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import type { LakeView } from "../read/lake-reader.js";
import type { Calendars } from "../read/load-calendars.js";
import { EXT_TYPE, REFERENCE_TABLES } from "../read/reference-data.js";
import { type EndpointHandler, TextResponse } from "./response.js";

/** The tables from which quotes are derived. */
export const QUOTE_TABLES = [BARS_1D, BARS_1M, TRADING_DAYS, ...REFERENCE_TABLES];
/** Number of rows that take as much memory as one quote with its temporary objects. */
const ROWS_OF_A_QUOTE = 100;

/**
 * `POST` and `GET /v1/quotes`: quotes are made from each symbol's newest bars. A symbol without bars is left out.
 *
 * @param read reads the bars.
 */
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
  const { members } = await view.reference();
  const listed = (asked.universes ?? []).flatMap((id) => members.get(id) ?? []);
  const symbols = [...new Set([...(asked.symbols ?? []), ...listed])];
  return new TextResponse(`{"data":[${[...(await quoteTexts(view, symbols, read)).values()].join()}]}`);
}

/**
 * The quote of each symbol, as JSON; a symbol without bars is left out.
 *
 * @param read reads the bars. @default from the lake
 */
export async function quoteTexts(
  view: LakeView,
  symbols: readonly string[],
  read: ReadQuoteBars = readQuoteBars,
): Promise<ReadonlyMap<string, string>> {
  await view.acquireMemory(symbols.length * ROWS_OF_A_QUOTE);
  const dates = new Dates(view.now, await view.calendars());
  const cached = await cachedTexts(view, dates);
  const missing = symbols.filter((symbol) => {
    const region = regionOf(symbol);
    return region !== undefined && cached(region)?.has(symbol) !== true;
  });
  const made = missing.length === 0 ? new Map() : await makeQuotes(view, missing, dates, read);
  const texts = new Map<string, string>();
  for (const symbol of symbols) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const known = cached(region);
    const one = made.get(symbol);
    const text = one === undefined ? known?.get(symbol) : one.text;
    const isCached = one?.text !== undefined && !one.isTimed;
    if (isCached && known !== undefined && known.size < MOST_QUOTES) known.set(symbol, one.text);
    if (text !== undefined) texts.set(symbol, text);
  }
  return texts;
}

/**
 * The cached quotes of each region at the time of the request. In a replay quotes change with each minute, so none are
 * cached.
 */
async function cachedTexts(
  { version, now, quoteTexts: all }: LakeView,
  dates: Dates,
): Promise<(region: Region) => Map<string, string> | undefined> {
  if (version.visibleUntil !== undefined) return () => undefined;
  const versions = await version.stateOf(QUOTE_TABLES);
  const found = new Map<string, Map<string, string>>();
  return (region) =>
    once(found, region, () => {
      const clock = [dates.statusOf(region), dates.of(now, region), dates.finalEnd(region)];
      return all.of(region, `${versions} ${clock.join(" ")}`, now);
    });
}

/** A quote as JSON. */
interface MadeQuote {
  /** Undefined where there are no bars. */
  readonly text: string | undefined;
  /** Whether it depends on the time of the request. */
  readonly isTimed: boolean;
}

async function makeQuotes(
  view: LakeView,
  symbols: readonly string[],
  dates: Dates,
  read: ReadQuoteBars,
): Promise<Map<string, MadeQuote>> {
  const { instruments } = await view.reference();
  const barsOf = await read(view, symbols);
  const made = new Map<string, MadeQuote>();
  for (const symbol of symbols) {
    const region = regionOf(symbol) as Region;
    const facts = quoteFacts(region, barsOf(symbol), dates);
    if (facts === undefined) {
      made.set(symbol, { text: undefined, isTimed: false });
      continue;
    }
    const status = dates.statusOf(region);
    const isHalted = status !== "closed" && isSuspended(facts.bar) && dates.isToday(facts.timestamp, region);
    const session = isHalted ? "halted" : status;
    const text = quoteText(quoteOf(symbol, region, facts, instruments.get(symbol), session));
    made.set(symbol, { text, isTimed: facts.timestamp === view.now });
  }
  return made;
}

/** The value of a key, computed only once. */
function once<T>(values: Map<string, T>, key: string, make: () => T): T {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

/** Caches dates and closing times: computing them is slow, and the bars of a universe share a few timestamps. */
class Dates {
  readonly now: number;
  readonly #calendars: Calendars;
  readonly #dates = new Map<string, TradingDate>();
  readonly #instants = new Map<string, number>();
  readonly #statuses = new Map<string, SessionStatus>();
  readonly #neighbours = new Map<string, boolean>();

  constructor(now: number, calendars: Calendars) {
    this.now = now;
    this.#calendars = calendars;
  }

  /** The state of a region's market at the time of the request. */
  statusOf(region: Region): SessionStatus {
    const isOpen = (date: TradingDate): boolean => this.#calendars[region].isOpen(date);
    return once(this.#statuses, region, () => sessionStatus(region, this.now, isOpen));
  }

  isToday(timestamp: number, region: Region): boolean {
    return this.of(timestamp, region) === this.of(this.now, region);
  }

  /** Whether a region has no session between two dates. */
  areNeighbours(before: TradingDate, date: TradingDate, region: Region): boolean {
    return once(this.#neighbours, `${region} ${before} ${date}`, () =>
      this.#calendars[region].areNeighbours(before, date),
    );
  }

  /** The trading date of a bar. */
  of(timestamp: number, region: Region): TradingDate {
    return once(this.#dates, `${region} ${timestamp}`, () => localDate(timestamp, REGIONS[region].zone));
  }

  /** The time at which a region's last session of a day ends. */
  closeOf(date: TradingDate, region: Region): number {
    return once(this.#instants, `${region} ${date}`, () =>
      instantOf(date, REGIONS[region].zone, closeMinute(region)),
    );
  }

  /** The start of the first day of a region that is not final yet, in epoch milliseconds. */
  finalEnd(region: Region): number {
    return once(this.#instants, region, () => finalEnd(region, this.now));
  }
}

interface QuoteFacts {
  readonly bar: LastBar;
  readonly timestamp: number;
  /** Undefined where neither the bar nor the previous session has it. */
  readonly prevClose: number | undefined;
}

/**
 * Makes a quote from the daily bar once the day is final, otherwise from the minutes. The quote's time is that of the
 * last minute, or the close. The previous close is the one in the bar, else the close of the previous session; a bar
 * older than that session is not used for it.
 */
function quoteFacts(region: Region, { daily, minutes }: QuoteBars, dates: Dates): QuoteFacts | undefined {
  const newest = daily.at(-1);
  const dayOf = (bar: LastBar): TradingDate => dates.of(bar.timestamp, region);
  const sameDay = newest !== undefined && minutes !== undefined && dayOf(newest) === dayOf(minutes);
  const closeBefore = (bar: LastBar, before: LastBar | undefined): number | undefined =>
    before !== undefined && dates.areNeighbours(dayOf(before), dayOf(bar), region) ? before.close : undefined;
  if (minutes !== undefined && !(sameDay && newest.timestamp < dates.finalEnd(region))) {
    const before = sameDay ? daily.at(-2) : newest;
    const stated = minutes.prevClose ?? (sameDay ? newest.prevClose : null);
    return { bar: minutes, timestamp: minutes.timestamp, prevClose: stated ?? closeBefore(minutes, before) };
  }
  if (newest === undefined) return undefined;
  const closesAt = dates.closeOf(dayOf(newest), region);
  const timestamp = sameDay ? minutes.timestamp : Math.min(closesAt, Math.max(dates.now, newest.timestamp));
  return { bar: newest, timestamp, prevClose: newest.prevClose ?? closeBefore(newest, daily.at(-2)) };
}

function quoteOf(
  symbol: string,
  region: Region,
  { bar, timestamp, prevClose }: QuoteFacts,
  instrument: Instrument | undefined,
  session: Quote["session"],
): Quote {
  const floatShares = instrument?.ext?.float_shares;
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
      ...(instrument?.name ? { name: instrument.name } : {}),
      change_amount: prevClose === undefined ? undefined : bar.close - prevClose,
      change_pct: ratio(bar.close - (prevClose ?? 0), prevClose),
      amplitude: ratio(bar.high - bar.low, prevClose),
      turnover_rate: ratio(bar.volume * REGIONS[region].lot, floatShares),
    },
  };
}

function ratio(part: number, whole: unknown): number | undefined {
  return typeof whole === "number" && whole > 0 ? part / whole : undefined;
}

const INTEGERS: ReadonlySet<string> = new Set(["timestamp", "volume"]);
const quoteText = (one: Quote): string => jsonText(one, (member) => !INTEGERS.has(member));

/**
 * Whether a bar has the form in which services deliver a day on which a symbol was suspended: prices of 0, and no
 * trade.
 */
function isSuspended({ open, high, low, volume }: LastBar): boolean {
  return volume === 0 && open === 0 && high === 0 && low === 0;
}
