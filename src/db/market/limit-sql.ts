import {
  BOARD_LIMITS,
  ETF_SYMBOLS,
  INDEX_SYMBOLS,
  LIMIT_TOLERANCE,
  LIMITED_TYPES,
  LIMITS_SINCE,
  NARROWEST_LIMIT,
  PRICE_DECIMALS,
  SPECIAL_TREATMENT_NAMES,
} from "../../market/price-limits.js";
import { literal } from "../quote.js";

/**
 * How far a day's price may move from the previous close, in percent; null where there is no limit.
 *
 * @param type SQL of the kind of instrument; null: derived from the symbol.
 * @param name SQL of the name on that date, which shows a special treatment.
 */
export function limitPercentSql(symbol: string, date: string, type: string, name: string): string {
  const types = LIMITED_TYPES.map(literal).join(", ");
  const isSpecial = matches(`coalesce(${name}, '')`, SPECIAL_TREATMENT_NAMES);
  const cases = BOARD_LIMITS.flatMap(({ symbols, percent, before, specialTreatment }) => {
    const isOfBoard = matches(symbol, symbols);
    return [
      ...(before ? [`${isOfBoard} AND ${date} < DATE ${literal(before.date)} THEN ${before.percent}`] : []),
      ...(specialTreatment ? [`${isOfBoard} AND ${isSpecial} THEN ${specialTreatment}`] : []),
      `${isOfBoard} THEN ${percent}`,
    ];
  });
  const unlimited = [
    `coalesce(${type}, 'stock') NOT IN (${types}) OR ${date} < DATE ${literal(LIMITS_SINCE)} THEN NULL`,
    `${type} IS NULL AND ${matches(symbol, INDEX_SYMBOLS)} THEN NULL`,
  ];
  return `CASE ${[...unlimited, ...cases].map((one) => `WHEN ${one}`).join(" ")} END`;
}

/**
 * Decimals of an instrument's prices on the Chinese exchanges.
 *
 * @param type SQL of the kind of instrument; null: derived from the symbol.
 */
export function priceDecimalsSql(symbol: string, type: string): string {
  const isEtf = `${type} = 'etf' OR ${type} IS NULL AND ${matches(symbol, ETF_SYMBOLS)}`;
  return `CASE WHEN ${isEtf} THEN ${PRICE_DECIMALS.etf} ELSE ${PRICE_DECIMALS.other} END`;
}

function matches(text: string, pattern: RegExp): string {
  return `regexp_matches(${text}, ${literal(pattern.source)})`;
}

/** Whether a price is at the upper limit; false where either is null. */
export function isAtLimitUpSql(price: string, limit: string): string {
  return `coalesce(${price} >= ${limit} - ${LIMIT_TOLERANCE}, false)`;
}

/** Whether a price is at the lower limit; false where either is null. */
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
