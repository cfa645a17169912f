import { currencyOfRegion, OTHER_CURRENCIES } from "../../market/currency.js";
import { OWN_SESSIONS } from "../../market/regions.js";
import {
  FULL_SYMBOL_LENGTH,
  MAX_SYMBOL_LENGTH,
  SHORT_SYMBOL_FORM,
  SYMBOL_FORM,
} from "../../market/symbol.js";
import { literal } from "../quote.js";
import { perRegion } from "./region-sql.js";

/** Whether a text has the form of a symbol, by the same expression as `isSymbol`; null for null. */
export function isSymbolSql(text: string): string {
  return `(length(${text}) <= ${MAX_SYMBOL_LENGTH} AND regexp_full_match(${text}, ${literal(SYMBOL_FORM)}))`;
}

/** A symbol as services write it, by the same rule as `canonicalSymbol`. */
export function canonicalSymbolSql(text: string): string {
  return `CASE WHEN regexp_full_match(${text}, ${literal(SHORT_SYMBOL_FORM)}) THEN lpad(${text}, ${FULL_SYMBOL_LENGTH}, '0') ELSE ${text} END`;
}

/** The code of a symbol, by the same rule as `codeOf`. */
export function codeSql(symbol: string): string {
  return `regexp_replace(${symbol}, '\\.[^.]*$', '')`;
}

/** The exchange suffix of a symbol, by the same rule as `exchangeOf`. */
export function exchangeSql(symbol: string): string {
  return `regexp_extract(${symbol}, '\\.([^.]*)$', 1)`;
}

/** Why a row is rejected whose symbol belongs to no known region. */
export function unknownExchangeReasonSql(symbol: string): string {
  return `'symbol ' || ${symbol} || ' has an unknown exchange suffix'`;
}

/** Whether a symbol is of an exchange whose sessions are not known. */
export function hasOwnSessionsSql(symbol: string): string {
  return `coalesce(${exchangeSql(symbol)} IN (${OWN_SESSIONS.map(literal).join(", ")}), false)`;
}

/** Why minutes are rejected whose exchange has sessions that are not known. */
export function unknownSessionsSql(symbol: string): string {
  return `'minutes of ' || ${exchangeSql(symbol)} || ' cannot land: its nights belong to the next trading date, and its sessions are not known here'`;
}

/** The currency of an instrument's prices, by ISO 4217; null where the region is unknown. */
export function currencySql(symbol: string, region: string): string {
  const others = OTHER_CURRENCIES.map(
    ([form, currency]) => `WHEN regexp_full_match(${symbol}, ${literal(form)}) THEN ${literal(currency)}`,
  );
  return `CASE ${others.join(" ")} ELSE ${perRegion(region, (facts) => literal(currencyOfRegion(facts.region)))} END`;
}
