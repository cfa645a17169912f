import {
  BOARD_LIMITS,
  DAYS_OF_FIVE_SESSIONS,
  ETF_SYMBOLS,
  FIRST_DAY,
  INDEX_SYMBOLS,
  LIMIT_TOLERANCE,
  LIMITED_TYPES,
  NARROWEST_LIMIT,
  PRICE_DECIMALS,
  SPECIAL_TREATMENT_NAMES,
} from "../../market/price-limits.js";
import { literal } from "../quote.js";

/**
 * How far a day's price may move from the previous close, in percent; null where there is no limit. @param type kind of
 * instrument; null: derived from the symbol. @param name name on that date, which shows a special treatment, and what a
 * fund tracks.
 */
export function limitPercentSql(symbol: string, date: string, type: string, name: string): string {
  const types = LIMITED_TYPES.map(literal).join(", ");
  const nameText = `coalesce(${name}, '')`;
  const cases = BOARD_LIMITS.flatMap(({ symbols, funds, percents, specialTreatment }) => {
    const isOfBoard = `${matches(symbol, symbols)}${funds ? ` AND ${matches(nameText, funds)}` : ""}`;
    const from = ({ since }: { readonly since: string }): string => `${date} >= DATE ${literal(since)}`;
    const isSpecial = `${isOfBoard} AND ${type} IS DISTINCT FROM 'etf' AND ${matches(nameText, SPECIAL_TREATMENT_NAMES)}`;
    return [
      ...(specialTreatment
        ? [`${isSpecial} AND ${from(specialTreatment)} THEN ${specialTreatment.percent}`]
        : []),
      ...percents.map((one) => `${isOfBoard} AND ${from(one)} THEN ${one.percent}`),
    ];
  });
  const unlimited = [
    `coalesce(${type}, 'stock') NOT IN (${types}) THEN NULL`,
    `${type} IS NULL AND ${matches(symbol, INDEX_SYMBOLS)} THEN NULL`,
  ];
  return `CASE ${[...unlimited, ...cases].map((one) => `WHEN ${one}`).join(" ")} END`;
}

/** Sessions from the listing on to which the board's limit does not apply. @param type as in {@link limitPercentSql}. */
export function unlimitedSessionsSql(symbol: string, type: string, listed: string): string {
  const cases = BOARD_LIMITS.flatMap(({ symbols, unlimited }) =>
    unlimited === undefined
      ? []
      : [
          `WHEN ${matches(symbol, symbols)} THEN CASE WHEN ${listed} >= DATE ${literal(unlimited.since)} THEN ${unlimited.sessions} ELSE 1 END`,
        ],
  );
  return `CASE WHEN ${isEtfSql(symbol, type)} THEN 0 ${cases.join(" ")} ELSE 1 END`;
}

/**
 * The first date on which the limit of a board applies. Before it, see {@link firstLimitSql}. @param sessions {@link
 * unlimitedSessionsSql}. @param listedSession the session on the day of the listing; null where the calendar does not
 * know it. @param sixth the fifth session after that one; null where it has not been yet.
 */
export function limitsFromSql(
  listed: string,
  sessions: string,
  listedSession: string,
  sixth: string,
): string {
  const known = `coalesce(${sixth}, DATE '9999-12-31')`;
  return `CASE WHEN ${sessions} <= 1 THEN ${listed} + CAST(${sessions} AS INTEGER) WHEN ${listedSession} IS NULL THEN ${listed} + ${DAYS_OF_FIVE_SESSIONS} ELSE ${known} END`;
}

/** The limit of the sessions before the board's applies, in percent; null where there is none. */
export function firstLimitSql(symbol: string, listed: string, sessions: string): string {
  return `CASE WHEN ${sessions} = 1 AND ${listed} >= DATE ${literal(FIRST_DAY.since)} AND ${matches(symbol, FIRST_DAY.symbols)} THEN ${FIRST_DAY.up} END`;
}

/** The limit downwards that belongs to one upwards, in percent. */
export function downLimitSql(percent: string): string {
  return `CASE WHEN ${percent} = ${FIRST_DAY.up} THEN ${FIRST_DAY.down} ELSE ${percent} END`;
}

/** Whether a day's own prices show that a limit was not in force: false where there is no limit, or no trade. */
export function isRefutedSql(
  volume: string,
  low: string,
  high: string,
  limitUp: string,
  limitDown: string,
): string {
  return `coalesce(${volume} > 0 AND (${high} > ${limitUp} + ${LIMIT_TOLERANCE} OR (${low} > 0 AND ${low} < ${limitDown} - ${LIMIT_TOLERANCE})), false)`;
}

/** Decimals of an instrument's prices on the Chinese exchanges. @param type as in {@link limitPercentSql}. */
export function priceDecimalsSql(symbol: string, type: string): string {
  return `CASE WHEN ${isEtfSql(symbol, type)} THEN ${PRICE_DECIMALS.etf} ELSE ${PRICE_DECIMALS.other} END`;
}

function isEtfSql(symbol: string, type: string): string {
  return `${type} = 'etf' OR ${type} IS NULL AND ${matches(symbol, ETF_SYMBOLS)}`;
}

function matches(text: string, pattern: RegExp): string {
  return `regexp_matches(${text}, ${literal(pattern.source)})`;
}

export function isAtLimitUpSql(price: string, limit: string): string {
  return `coalesce(${price} >= ${limit} - ${LIMIT_TOLERANCE}, false)`;
}

export function isAtLimitDownSql(price: string, limit: string): string {
  return `coalesce(${price} <= ${limit} + ${LIMIT_TOLERANCE}, false)`;
}

/** Whether a bar could be traded: it has volume, and its prices were not all at one limit. */
export function isTradableSql(bar: {
  readonly volume: string;
  readonly low: string;
  readonly high: string;
  readonly limitUp: string;
  readonly limitDown: string;
}): string {
  const { volume, low, high, limitUp, limitDown } = bar;
  return `${volume} > 0 AND NOT ${isAtLimitUpSql(low, limitUp)} AND NOT ${isAtLimitDownSql(high, limitDown)}`;
}

/** More than what rounding to {@link PRICE_DECIMALS} and {@link LIMIT_TOLERANCE} change of a limit. */
const ROUNDING = 0.01;

/**
 * Whether a day may have been at a limit of the boards' rules: true, too, where that is unknown. Limits that the
 * metadata of the day states may be narrower.
 */
export function isNearLimitSql(low: string, high: string, close: string, prevClose: string): string {
  const [up, down] = [100 + NARROWEST_LIMIT, 100 - NARROWEST_LIMIT].map((percent) => percent / 100);
  const [below, above] = [`${prevClose} * ${up} - ${ROUNDING}`, `${prevClose} * ${down} + ${ROUNDING}`];
  const isBetween = [`${low} < ${below}`, `${close} < ${below}`, `${high} > ${above}`, `${close} > ${above}`];
  return `NOT coalesce(${[`${prevClose} > 0`, ...isBetween].join(" AND ")}, false)`;
}
