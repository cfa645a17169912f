import { DAY_MS } from "../../core/time.js";
import { EXCHANGE_REGION, REGIONS, type RegionFacts } from "../../market/regions.js";
import { literal } from "../quote.js";

/** An expression that depends on the region of the row; null where the region is unknown. */
export function perRegion(region: string, sql: (facts: RegionFacts) => string): string {
  const cases = Object.values(REGIONS).map((facts) => `WHEN ${literal(facts.region)} THEN ${sql(facts)}`);
  return `CASE ${region} ${cases.join(" ")} END`;
}

/** The region of a symbol, or null where its exchange is unknown. */
export function regionSql(symbol: string): string {
  const cases = Object.entries(EXCHANGE_REGION).map(
    ([exchange, region]) => `WHEN suffix(${symbol}, ${literal(`.${exchange}`)}) THEN ${literal(region)}`,
  );
  return `CASE ${cases.join(" ")} END`;
}

/** Shares in one unit of a region's volume. */
export function lotSql(region: string): string {
  return perRegion(region, ({ lot }) => String(lot));
}

/** The date of a TIMESTAMPTZ in the exchange's zone. */
export function tradeDateSql(timestamp: string, region: string): string {
  return perRegion(region, ({ zone }) => `CAST(timezone(${literal(zone)}, ${timestamp}) AS DATE)`);
}

/**
 * The instant (epoch milliseconds) from which the local times of a trading date count: noon in the exchange's zone
 * minus twelve hours. This is right for all trading hours, even on a day on which clocks change. A zone lookup is slow,
 * so it is used only where the offset is not steady.
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
