import { setImmediate } from "node:timers/promises";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import { encodeQuotes } from "../../wire/encode/encode-quotes.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import { MOST_QUOTES } from "../klines/cached/quote-texts.js";
import { type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { REFERENCE_TABLES } from "../read/reference-data.js";
import { type MadeQuote, quoteOf } from "./quote-of.js";
import { RegionDates } from "./region-dates.js";
import { type EndpointHandler, TextResponse } from "./response.js";

/** The tables from which quotes are derived. */
export const QUOTE_TABLES = [BARS_1D, BARS_1M, TRADING_DAYS, ...REFERENCE_TABLES];
/** Number of rows that take as much memory as one quote with its temporary objects. */
const ROWS_OF_A_QUOTE = 100;
/**
 * Number of quotes that are made and encoded at the same time. It limits their temporary objects, and how long other
 * requests wait for their turn.
 */
const QUOTES_AT_ONCE = 500;

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

/** Dates at the time of the request. */
async function regionDates(view: LakeView): Promise<DatesOf> {
  const calendars = await view.calendars();
  return perRegion((region) => new RegionDates(view.now, region, calendars[region]));
}

/** The cached quotes of a region; undefined where none are cached. */
type CachedTexts = (region: Region) => Map<string, string> | undefined;

/**
 * The cached quotes of each region at the time of the request. In a replay quotes change with each minute, so none are
 * cached.
 */
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

/** Computes a value once for each region that is asked for. */
function perRegion<T>(make: (region: Region) => T): (region: Region) => T {
  const known = new Map<Region, T>();
  return (region) => {
    const found = known.get(region);
    if (found !== undefined) return found;
    const made = make(region);
    known.set(region, made);
    return made;
  };
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
