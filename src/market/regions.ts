import { epochDay, parseTradingDate, type TradingDate } from "../core/time.js";

/** A market whose exchanges share a zone, sessions and a unit of volume. */
export type Region = "CN" | "HK" | "US";

/** An offset of a zone from UTC that has not changed since a date. */
export interface SteadyOffset {
  readonly since: TradingDate;
  /** Days from 1970-01-01 to {@link since}. */
  readonly sinceDay: number;
  readonly offsetMs: number;
}

/** What every instrument of a region has in common. */
export interface RegionFacts {
  readonly region: Region;
  /** IANA zone of the region's trading dates and session times. */
  readonly zone: string;
  /** The zone's constant offset from UTC since a date; undefined where clocks still change. */
  readonly steady: SteadyOffset | undefined;
  /** Shares in one unit of a service's `volume`: CN counts in lots of 100, HK and US in shares. */
  readonly lot: number;
  /** Colour of a rising bar (its close is not below its open) in the region's charts. */
  readonly rising: RisingColour;
}

export type RisingColour = "green" | "red";

/** Mainland China and Hong Kong have not changed their clocks since 1992. */
const STEADY_SINCE = parseTradingDate("1992-01-01");
const EIGHT_HOURS = { since: STEADY_SINCE, sinceDay: epochDay(STEADY_SINCE), offsetMs: 28_800_000 };

export const REGIONS: Readonly<Record<Region, RegionFacts>> = {
  CN: { region: "CN", zone: "Asia/Shanghai", steady: EIGHT_HOURS, lot: 100, rising: "red" },
  HK: { region: "HK", zone: "Asia/Hong_Kong", steady: EIGHT_HOURS, lot: 1, rising: "green" },
  US: { region: "US", zone: "America/New_York", steady: undefined, lot: 1, rising: "green" },
};

export const REGION_NAMES = Object.keys(REGIONS) as readonly Region[];

export function byRegion<T>(valueOf: (region: Region) => T): Record<Region, T> {
  return { CN: valueOf("CN"), HK: valueOf("HK"), US: valueOf("US") };
}

/** Region by exchange suffix of a symbol. The Chinese futures exchanges are included. */
export const EXCHANGE_REGION: Readonly<Record<string, Region>> = {
  SH: "CN",
  SZ: "CN",
  BJ: "CN",
  SHF: "CN",
  DCE: "CN",
  ZCE: "CN",
  CFX: "CN",
  INE: "CN",
  GFE: "CN",
  HK: "HK",
  US: "US",
};

/**
 * Exchanges whose instruments have sessions of their own: futures, many of which trade at night, and whose nights belong to
 * the next trading date. These sessions are not known here, so that minutes of these exchanges do not land.
 */
export const OWN_SESSIONS: readonly string[] = ["SHF", "DCE", "ZCE", "CFX", "INE", "GFE"];

/** Whether minutes of a symbol cannot land: see {@link OWN_SESSIONS}. */
export function hasOwnSessions(symbol: string): boolean {
  return OWN_SESSIONS.includes(symbol.slice(symbol.lastIndexOf(".") + 1));
}

export function isRegion(text: string): text is Region {
  return Object.hasOwn(REGIONS, text);
}

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

/** Up to this number of shares, twice the shares plus a unit is exact as a double. */
const MOST_SHARES = 2 ** 51;

/** Shares in units of volume, rounded half up, as in the macro `units_of`; undefined where doubles are not exact. */
export function unitsOf(shares: number, unit: number): number | undefined {
  if (shares > MOST_SHARES) return undefined;
  const doubled = shares * 2 + unit;
  return (doubled - (doubled % (2 * unit))) / (2 * unit);
}

/** As {@link unitsOf}, but returns the nearest double where the number of shares is too large. */
export function nearUnitsOf(shares: number, unit: number): number {
  return unitsOf(shares, unit) ?? Math.round(shares / unit);
}
