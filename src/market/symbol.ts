import { UsageError } from "../core/errors.js";
import { EXCHANGE_REGION, isRegion, REGIONS, type Region, type RisingColour } from "./regions.js";

/** An instrument's symbol, `<code>.<exchange suffix>`, such as `600519.SH`. Only {@link parseSymbol} makes one. */
type MarketSymbol = string & { readonly __brand: "MarketSymbol" };

/** The longest accepted symbol, in characters. It limits the size of keys from a hostile response. */
export const MAX_SYMBOL_LENGTH = 32;

/**
 * The form of a symbol as a regular expression that JavaScript and RE2 (DuckDB) interpret alike. It must match the
 * whole text.
 */
export const SYMBOL_FORM = "[A-Za-z0-9][A-Za-z0-9_^-]*(?:\\.[A-Za-z0-9_^-]+)*\\.[A-Z]{2,4}";
const SYMBOL = new RegExp(`^${SYMBOL_FORM}$`);
export const SYMBOL_GRAMMAR = "<code>.<exchange suffix>";
/** Most symbols have a code of digits and letters. This expression matches them without backtracking at the dot. */
const PLAIN_SYMBOL = /^[A-Za-z0-9]+\.[A-Z]{2,4}$/;

/** Whether a text has the form of a symbol. The exchange need not be known. */
export function isSymbol(text: string): text is MarketSymbol {
  return text.length <= MAX_SYMBOL_LENGTH && (PLAIN_SYMBOL.test(text) || SYMBOL.test(text));
}

/** The form of symbols whose code lacks leading zeros: codes of Hong Kong have five digits. */
export const SHORT_SYMBOL_FORM = "\\d{1,4}\\.HK";
/** Its length with leading zeros, in characters. */
export const FULL_SYMBOL_LENGTH = "00700.HK".length;
const SHORT_SYMBOL = new RegExp(`^${SHORT_SYMBOL_FORM}$`);

/** A symbol as services write it: `700.HK` becomes `00700.HK`. */
export function canonicalSymbol(symbol: string): string {
  return SHORT_SYMBOL.test(symbol) ? symbol.padStart(FULL_SYMBOL_LENGTH, "0") : symbol;
}

/**
 * Checks a text from a user, and returns it as a symbol in the form that services use. @throws {UsageError} when it has
 * not the form.
 */
export function parseSymbol(text: string): MarketSymbol {
  const symbol = canonicalSymbol(text);
  if (isSymbol(symbol)) return symbol;
  throw new UsageError(`symbol "${text.slice(0, 64)}" is not of the form ${SYMBOL_GRAMMAR}`, {
    hint: "write it like 600519.SH, 00700.HK or AAPL.US",
  });
}

/** The exchange suffix of a symbol: the text after its last dot; empty where it has no dot. */
export function exchangeOf(symbol: string): string {
  const dot = symbol.lastIndexOf(".");
  return dot < 0 ? "" : symbol.slice(dot + 1);
}

export function codeOf(symbol: string): string {
  return symbol.slice(0, symbol.lastIndexOf("."));
}

const DOT = 0x2e;
const pairOf = (text: string, at: number): number => text.charCodeAt(at) * 0x10000 + text.charCodeAt(at + 1);
/** The regions of exchanges whose suffix has two letters, which are most, by the codes of both letters. */
const REGION_OF_PAIR: ReadonlyMap<number, Region> = new Map(
  Object.entries(EXCHANGE_REGION)
    .filter(([exchange]) => exchange.length === 2)
    .map(([exchange, region]) => [pairOf(exchange, 0), region]),
);

/**
 * The region of a symbol's exchange, or undefined where the exchange is not a known one. It makes no text for the
 * suffix: plans ask for the region of each symbol some ten times.
 */
export function regionOf(symbol: string): Region | undefined {
  const suffix = symbol.length - 2;
  if (symbol.charCodeAt(suffix - 1) === DOT) return REGION_OF_PAIR.get(pairOf(symbol, suffix));
  const exchange = exchangeOf(symbol);
  return Object.hasOwn(EXCHANGE_REGION, exchange) ? EXCHANGE_REGION[exchange] : undefined;
}

/** Splits a comma-separated list, trims its items, and drops empty and repeated ones. The order remains. */
export function splitList(text: string): string[] {
  const items = text.split(",").map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ""))];
}

/** Returns the value of a column, or a parameter, of a chart's rows, as text; undefined where it does not exist. */
export type Named = (name: "region" | "symbol") => string | undefined;

/** The colour of rising bars: that of the region that the rows name, or of the symbol's region; else green. */
export function risingColour(named: Named): RisingColour {
  const given = named("region");
  const region = given !== undefined && isRegion(given) ? given : regionOf(named("symbol") ?? "");
  return region === undefined ? "green" : REGIONS[region].rising;
}
