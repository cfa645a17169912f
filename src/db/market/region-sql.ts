import { EXCHANGE_REGION, REGIONS, type Region } from "../../market/regions.js";
import { literal } from "../quote.js";

/** The region of a symbol, or null where its exchange is not a known one. */
export function regionSql(symbol: string): string {
  const cases = Object.entries(EXCHANGE_REGION).map(
    ([exchange, region]) => `WHEN suffix(${symbol}, ${literal(`.${exchange}`)}) THEN ${literal(region)}`,
  );
  return `CASE ${cases.join(" ")} END`;
}

/** The exchange's own date of a TIMESTAMPTZ. */
export function tradeDateSql(timestamp: string, region: string): string {
  return perRegion(region, ({ zone }) => `CAST(${timestamp} AT TIME ZONE ${literal(zone)} AS DATE)`);
}

/** An expression that depends on the region of the row. */
export function perRegion(region: string, sql: (facts: (typeof REGIONS)[Region]) => string): string {
  const cases = Object.values(REGIONS).map((facts) => `WHEN ${literal(facts.region)} THEN ${sql(facts)}`);
  return `CASE ${region} ${cases.join(" ")} END`;
}
