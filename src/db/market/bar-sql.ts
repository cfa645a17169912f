import type { Adjustment } from "../../market/period.js";

const MAX_INT64 = "9223372036854775807";
/** A volume below this, times any lot, fits into 64 bits. */
const SMALL_VOLUME = 2 ** 32;
/** Twice as many shares, and half a unit, fit into 64 bits. A division of 128 bits takes DuckDB some 400 ns. */
const FEW_SHARES = "2305843009213693952";

export function exactSharesSql(volume: string, lot: string): string {
  return `CAST(${volume} AS HUGEINT) * ${lot}`;
}

/** The shares of a volume as an int64; the largest int64 where they exceed it. */
export function sharesSql(volume: string, lot: string): string {
  return `CASE WHEN ${volume} < ${SMALL_VOLUME} THEN ${volume} * ${lot} ELSE ${int64Sql(exactSharesSql(volume, lot))} END`;
}

/**
 * A number of shares or units as an int64; the largest int64 where it exceeds that, null where `known` is null:
 * DuckDB's `least` ignores a null.
 */
export function int64Sql(sum: string, known = sum): string {
  return `CASE WHEN ${known} IS NOT NULL THEN CAST(least(${sum}, ${MAX_INT64}) AS BIGINT) END`;
}

/** Shares in units of a region, rounded half up. @param shares see {@link exactSharesSql}. */
export function unitsSql(shares: string, unit: string): string {
  const rounded = (exact: string): string => `(${exact} * 2 + ${unit}) // (2 * ${unit})`;
  const isSmall = `${shares} BETWEEN -${FEW_SHARES} AND ${FEW_SHARES}`;
  return `CASE WHEN ${isSmall} THEN ${rounded(`CAST(${shares} AS BIGINT)`)} ELSE ${int64Sql(rounded(shares), shares)} END`;
}

export function volumeSql(volume: string, lot: string, unit: string): string {
  return `CASE WHEN ${lot} = ${unit} THEN ${volume} ELSE ${unitsSql(`(${exactSharesSql(volume, lot)})`, unit)} END`;
}

/**
 * The price that a day's return starts from: the previous close as the exchange states it, which is free of ex-dates,
 * else the close of the bar before. Of a NaN, DuckDB says that it is above 0.
 */
export function returnBaseSql(prevClose: string, lastClose: string): string {
  return `CASE WHEN ${prevClose} > 0 AND isfinite(${prevClose}) THEN ${prevClose} ELSE ${lastClose} END`;
}

/** The return of a day; null where it has no close, or nothing to start from. @param base see {@link returnBaseSql}. */
export function returnSql(close: string, base: string): string {
  return `CASE WHEN ${base} > 0 AND ${close} > 0 THEN ${close} / ${base} - 1 END`;
}

/**
 * The price of a bar as an aggregate takes it: some feeds set open, high and low of a bar without trades to 0, so its
 * close replaces them. Apply it to unadjusted prices: an additive adjustment can make a price 0.
 */
export function statedPriceSql(price: string, close: string): string {
  return `CASE WHEN ${price} = 0 THEN ${close} ELSE ${price} END`;
}

/**
 * A price adjusted by its day's step value (null: no change). A price of 0 means "none" and stays 0. @param adjustment
 * the adjustment, or SQL of its name.
 */
export function adjustedPriceSql(
  price: string,
  adjustment: Adjustment | { sql: string },
  step: string,
): string {
  const forward = `${price} / ${step}`;
  const backward = `${price} * ${step}`;
  const additive = `CASE WHEN ${price} = 0 THEN ${price} ELSE ${price} + ${step} END`;
  if (typeof adjustment !== "string") {
    const { sql } = adjustment;
    return `CASE WHEN ${step} IS NULL THEN ${price} WHEN ${sql} = 'forward' THEN ${forward} WHEN ${sql} = 'backward' THEN ${backward} ELSE ${additive} END`;
  }
  switch (adjustment) {
    case "none":
      return price;
    case "forward":
      return `CASE WHEN ${step} IS NULL THEN ${price} ELSE ${forward} END`;
    case "backward":
      return `CASE WHEN ${step} IS NULL THEN ${price} ELSE ${backward} END`;
    case "forward_additive":
    case "backward_additive":
      return `CASE WHEN ${step} IS NULL THEN ${price} ELSE ${additive} END`;
  }
}

/**
 * Makes one bar of a bucket's bars. Prices come from {@link statedPriceSql} and {@link adjustedPriceSql}; the volume is
 * summed elsewhere.
 */
export const BAR_AGGREGATES = {
  open: 'arg_min(open, "timestamp")',
  high: "max(high)",
  low: "min(low)",
  close: 'arg_max(close, "timestamp")',
  amount: "sum(amount)",
  prev_close: 'arg_min_null(prev_close, "timestamp")',
  open_interest: 'arg_max_null(open_interest, "timestamp")',
  settlement_price: 'arg_max_null(settlement_price, "timestamp")',
} as const;
