import type { Adjustment } from "../../market/period.js";

const MAX_INT64 = "9223372036854775807";
/** Below it a volume times any lot fits into 64 bits. */
const SMALL_VOLUME = 2 ** 32;

/** The shares of a volume, exact, in 128 bits. */
export function exactSharesSql(volume: string, lot: string): string {
  return `CAST(${volume} AS HUGEINT) * ${lot}`;
}

/** The shares of a volume as an int64; the largest one where they are more. */
export function sharesSql(volume: string, lot: string): string {
  return `CASE WHEN ${volume} < ${SMALL_VOLUME} THEN ${volume} * ${lot} ELSE ${int64Sql(exactSharesSql(volume, lot))} END`;
}

/** A sum of volumes as the interface has them: an int64, the largest one where the sum is more. */
function int64Sql(sum: string): string {
  return `CAST(least(${sum}, ${MAX_INT64}) AS BIGINT)`;
}

/**
 * Shares in units of a region, rounded half up.
 *
 * @param shares exact: see {@link exactSharesSql}.
 */
export function unitsSql(shares: string, unit: string): string {
  return int64Sql(`(${shares} * 2 + ${unit}) // (2 * ${unit})`);
}

/** The volume of one landed bar in units of its region. */
export function volumeSql(volume: string, lot: string, unit: string): string {
  return `CASE WHEN ${lot} = ${unit} THEN ${volume} ELSE ${unitsSql(`(${exactSharesSql(volume, lot)})`, unit)} END`;
}

/**
 * The price of a bar as an aggregate takes it: some feeds set open, high and low of a bar without trades to 0, and its
 * close stands for them. Of prices as they were landed: an additive adjustment can make a price 0.
 */
export function statedPriceSql(price: string, close: string): string {
  return `CASE WHEN ${price} = 0 THEN ${close} ELSE ${price} END`;
}

/**
 * A price adjusted by the value of its day's stretch, which is null where the price stays. A price of 0 says "none", and
 * stays so.
 *
 * @param adjustment one, or SQL of one.
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

/** How the bars of a bucket become one, by column. Prices are stated and adjusted; volume is a sum of its own. */
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
