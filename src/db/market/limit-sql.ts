import { LIMIT_TOLERANCE } from "../../market/limits.js";

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
