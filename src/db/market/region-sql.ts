import { DAY_MS } from "../../core/time.js";
import {
  currencyOfRegion,
  EXCHANGE_REGION,
  OTHER_CURRENCIES,
  OWN_SESSIONS,
  REGION_NAMES,
  REGIONS,
  type Region,
  type RegionFacts,
} from "../../market/regions.js";
import { SESSION_HOURS, sessionMinutes } from "../../market/sessions.js";
import {
  FULL_SYMBOL_LENGTH,
  MAX_SYMBOL_LENGTH,
  SHORT_SYMBOL_FORM,
  SYMBOL_FORM,
} from "../../market/symbol.js";
import { literal } from "../quote.js";

/**
 * An expression that depends on the region of the row; null where the region is unknown. @param regions those that rows
 * may have: with a single one, the expression does not look at the row.
 */
export function perRegion(
  region: string,
  sql: (facts: RegionFacts) => string,
  regions: readonly Region[] = REGION_NAMES,
): string {
  const [only, ...others] = regions;
  if (only !== undefined && others.length === 0) return sql(REGIONS[only]);
  const cases = regions.map((name) => `WHEN ${literal(name)} THEN ${sql(REGIONS[name])}`);
  return `CASE ${region} ${cases.join(" ")} END`;
}

/** The region of a symbol, or null where its exchange is unknown. */
export function regionSql(symbol: string): string {
  const cases = Object.entries(EXCHANGE_REGION).map(
    ([exchange, region]) => `WHEN suffix(${symbol}, ${literal(`.${exchange}`)}) THEN ${literal(region)}`,
  );
  return `CASE ${cases.join(" ")} END`;
}

/** Shares in one unit of a region's volume. @param regions see {@link perRegion}. */
export function lotSql(region: string, regions?: readonly Region[]): string {
  return perRegion(region, ({ lot }) => String(lot), regions);
}

export function tradeDateSql(timestamp: string, region: string): string {
  return perRegion(region, ({ zone }) => `CAST(timezone(${literal(zone)}, ${timestamp}) AS DATE)`);
}

/**
 * The instant (epoch milliseconds) from which the local times of a trading date count: noon in the exchange's zone
 * minus twelve hours, which is right for all trading hours, even where clocks change. A zone lookup is slow, so it is
 * used only where the offset is not steady. @param regions see {@link perRegion}. @param since no date is before this
 * one. @default any
 */
export function localMidnightSql(
  date: string,
  region: string,
  regions: readonly Region[] = REGION_NAMES,
  since = "",
): string {
  const all = regions.map((name) => REGIONS[name]);
  const [first] = all;
  if (
    first?.steady !== undefined &&
    since >= first.steady.since &&
    all.every(({ steady }) => steady === first.steady)
  )
    return `epoch_ms(${date}) - ${first.steady.offsetMs}`;
  const cases = [...new Set(all.map(({ steady }) => steady))].flatMap((steady) => {
    if (steady === undefined) return [];
    const names = all.filter((facts) => facts.steady === steady).map((facts) => literal(facts.region));
    return `WHEN ${region} IN (${names.join(", ")}) AND ${date} >= DATE ${literal(steady.since)} THEN epoch_ms(${date}) - ${steady.offsetMs}`;
  });
  const noon = perRegion(
    region,
    ({ zone }) => `timezone(${literal(zone)}, ${date} + INTERVAL 12 HOUR)`,
    regions,
  );
  if (cases.length === 0) return `epoch_ms(${noon}) - ${DAY_MS / 2}`;
  return `CASE ${cases.join(" ")} ELSE epoch_ms(${noon}) - ${DAY_MS / 2} END`;
}

/** Whether a text has the form of a symbol, by the same expression as `isSymbol`; null for null. */
export function isSymbolSql(text: string): string {
  return `(length(${text}) <= ${MAX_SYMBOL_LENGTH} AND regexp_full_match(${text}, ${literal(SYMBOL_FORM)}))`;
}

/** As `canonicalSymbol`. */
export function canonicalSymbolSql(text: string): string {
  return `CASE WHEN regexp_full_match(${text}, ${literal(SHORT_SYMBOL_FORM)}) THEN lpad(${text}, ${FULL_SYMBOL_LENGTH}, '0') ELSE ${text} END`;
}

/** As `codeOf`. */
export function codeSql(symbol: string): string {
  return `regexp_replace(${symbol}, '\\.[^.]*$', '')`;
}

/** As `exchangeOf`. */
export function exchangeSql(symbol: string): string {
  return `regexp_extract(${symbol}, '\\.([^.]*)$', 1)`;
}

/** Why a row is rejected whose symbol belongs to no known region. */
export function unknownExchangeReasonSql(symbol: string): string {
  return `'symbol ' || ${symbol} || ' has an unknown exchange suffix'`;
}

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

/** Whether a bar that ends at a local time of day is a minute of the session; the bar of the auction is not. */
export function isSessionMinuteSql(region: string, time: string): string {
  return perRegion(region, (facts) => {
    const parts = SESSION_HOURS[facts.region].parts.map(
      ([open, close]) => `(${time} > ${timeSql(open)} AND ${time} <= ${timeSql(close)})`,
    );
    return `(${parts.join(" OR ")})`;
  });
}

/** How many minutes a region's session has, without its auctions. */
export function sessionMinutesSql(region: string): string {
  return perRegion(region, (facts) => String(sessionMinutes(facts.region)));
}

function timeSql(minute: number): string {
  const [hours, minutes] = [Math.floor(minute / 60), minute % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `TIME ${literal(`${hours}:${minutes}`)}`;
}
