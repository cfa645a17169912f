import { DAY_MS } from "../../core/time.js";
import { EXCHANGE_REGION, REGIONS, type RegionFacts } from "../../market/regions.js";
import { literal } from "../quote.js";

/** An expression that depends on the region of the row; null where it is not a known one. */
export function perRegion(region: string, sql: (facts: RegionFacts) => string): string {
  const cases = Object.values(REGIONS).map((facts) => `WHEN ${literal(facts.region)} THEN ${sql(facts)}`);
  return `CASE ${region} ${cases.join(" ")} END`;
}

/** The region of a symbol, or null where its exchange is not a known one. */
export function regionSql(symbol: string): string {
  const cases = Object.entries(EXCHANGE_REGION).map(
    ([exchange, region]) => `WHEN suffix(${symbol}, ${literal(`.${exchange}`)}) THEN ${literal(region)}`,
  );
  return `CASE ${cases.join(" ")} END`;
}

/** Shares of one unit of volume that a region is served in. */
export function lotSql(region: string): string {
  return perRegion(region, ({ lot }) => String(lot));
}

/** The exchange's own date of a TIMESTAMPTZ. */
export function tradeDateSql(timestamp: string, region: string): string {
  return perRegion(region, ({ zone }) => `CAST(timezone(${literal(zone)}, ${timestamp}) AS DATE)`);
}

/**
 * The instant, epoch milliseconds, that the local times of a trading date count from: noon in the exchange's zone less twelve
 * hours, which holds in all trading hours, even on the day of a change of clocks. A zone's table is slow, so it is used only
 * where the offset is not steady.
 */
export function localMidnightSql(date: string, region: string): string {
  const all = Object.values(REGIONS);
  const cases = [...new Set(all.map(({ steady }) => steady))].flatMap((steady) => {
    if (steady === undefined) return [];
    const regions = all.filter((facts) => facts.steady === steady).map((facts) => literal(facts.region));
    return `WHEN ${region} IN (${regions.join(", ")}) AND ${date} >= DATE ${literal(steady.since)} THEN epoch_ms(${date}) - ${steady.offsetMs}`;
  });
  const noon = perRegion(region, ({ zone }) => `timezone(${literal(zone)}, ${date} + INTERVAL 12 HOUR)`);
  return `CASE ${cases.join(" ")} ELSE epoch_ms(${noon}) - ${DAY_MS / 2} END`;
}
