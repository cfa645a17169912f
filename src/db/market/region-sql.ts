import { DAY_MS } from "../../core/time.js";
import {
  EXCHANGE_REGION,
  REGION_NAMES,
  REGIONS,
  type Region,
  type RegionFacts,
} from "../../market/regions.js";
import { literal } from "../quote.js";

/**
 * An expression that depends on the region of the row; null where the region is unknown.
 *
 * @param regions the regions that rows may have: with a single one, the expression does not look at the row.
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

/** The date of a TIMESTAMPTZ in the exchange's zone. */
export function tradeDateSql(timestamp: string, region: string): string {
  return perRegion(region, ({ zone }) => `CAST(timezone(${literal(zone)}, ${timestamp}) AS DATE)`);
}

/**
 * The instant (epoch milliseconds) from which the local times of a trading date count: noon in the exchange's zone
 * minus twelve hours. This is right for all trading hours, even on a day on which clocks change. A zone lookup is slow,
 * so it is used only where the offset is not steady.
 *
 * @param regions see {@link perRegion}.
 * @param since no date is before this one. @default dates may be any
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
