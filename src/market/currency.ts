import type { Region } from "./regions.js";

/** The currency of an exchange's prices, by ISO 4217. */
const CURRENCIES: Readonly<Record<Region, string>> = { CN: "CNY", HK: "HKD", US: "USD" };

/**
 * Codes whose prices are in another currency than that of their exchange, as a regular expression over the whole symbol:
 * B shares in Shanghai are in US dollars, those in Shenzhen in Hong Kong dollars; renminbi counters in Hong Kong.
 */
export const OTHER_CURRENCIES: readonly (readonly [symbol: string, currency: string])[] = [
  ["900\\d{3}\\.SH", "USD"],
  ["20\\d{4}\\.SZ", "HKD"],
  ["8\\d{4}\\.HK", "CNY"],
];

/** The currency of the prices of a region, but for {@link OTHER_CURRENCIES}. */
export function currencyOfRegion(region: Region): string {
  return CURRENCIES[region];
}
