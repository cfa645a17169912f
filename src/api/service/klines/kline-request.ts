import { UsageError } from "../../../core/errors.js";
import { parseTradingDate, type TimeRange } from "../../../core/time.js";
import { BUCKETS, longestDays } from "../../../market/bucket.js";
import { ADJUSTMENTS, type Adjustment, basePeriod, PERIODS, type Period } from "../../../market/period.js";
import { EXCHANGE_REGION, REGIONS, type Region } from "../../../market/regions.js";
import { addDays } from "../../../market/sessions.js";
import { parseSymbol, regionOf } from "../../../market/symbol.js";
import { instantOf, localDate } from "../../../market/zone.js";
import { LIMITS } from "../../../wire/endpoints.js";
import { expectOptions } from "../../expect-options.js";
import { dateOption, epochMsOf, isDateText, type TimeInput } from "../../time-input.js";

/** Which K-lines are requested, and how. */
export interface KlineOptions {
  /** @default "1d" */
  readonly period?: Period | undefined;
  /**
   * First trading date `YYYY-MM-DD`, of each exchange's own calendar; or an instant: epoch milliseconds, a Date, or ISO
   * text with a time. Either `from` or `count` is needed.
   */
  readonly from?: TimeInput | undefined;
  /** Date after the last one, or an instant, exclusive. @default everything so far */
  readonly to?: TimeInput | undefined;
  /** The newest so many bars of each symbol, from 1 to 10000. @default all of the window */
  readonly count?: number | undefined;
  /** How prices are adjusted for dividends, splits and rights issues. @default "none" */
  readonly adjust?: Adjustment | undefined;
  /**
   * Whether what is not complete throws an {@link IncompleteError}: bars that were set aside, unknown symbols, windows
   * that no response has settled. @default false: the report says so
   */
  readonly strict?: boolean | undefined;
  /** Ends the requests. */
  readonly signal?: AbortSignal | undefined;
}

/** A request for K-lines that was checked. */
export interface KlineRequest {
  readonly period: Period;
  readonly adjust: Adjustment;
  readonly count: number | undefined;
  /** In the order of the caller, each once. */
  readonly symbols: readonly string[];
  readonly byRegion: ReadonlyMap<Region, readonly string[]>;
  /** The window of a region's symbols at a time. */
  readonly rangeOf: (region: Region, now: number) => TimeRange;
}

const OPTIONS = ["period", "from", "to", "count", "adjust", "strict", "signal"];
/** Before the first bar of any exchange here. */
const FIRST_DATE = parseTradingDate("1970-01-01");

/** @throws {UsageError} naming the option, or the symbol, and the rule that it breaks. */
export function klineRequest(symbols: readonly string[], options: KlineOptions = {}): KlineRequest {
  expectOptions("klines", options, OPTIONS);
  const { period = "1d", adjust = "none", from, to, count } = options;
  expectOne("period", period, PERIODS);
  expectOne("adjust", adjust, ADJUSTMENTS);
  if (count !== undefined && !(Number.isInteger(count) && count >= 1 && count <= LIMITS.maxCount))
    throw new UsageError(`klines: count: ${count} is not a whole number from 1 to ${LIMITS.maxCount}`, {
      hint: "name the first date with from, to get all bars of a longer time",
    });
  if (from === undefined && count === undefined)
    throw new UsageError("klines: neither from nor count is given", {
      hint: 'give the first date, as in { from: "2024-01-01" }, or the number of newest bars, as in { count: 100 }',
    });
  const [startOf, endOf] = [
    edgeOf("from", from ?? FIRST_DATE),
    to === undefined ? endOfToday : edgeOf("to", to),
  ];
  const rangeOf = (region: Region, now: number): TimeRange => ({
    start: startOf(region, now),
    end: Math.min(endOf(region, now), endOfToday(region, now)),
  });
  const some = requestedSymbols("klines", symbols);
  const byRegion = symbolsByRegion(some);
  for (const region of byRegion.keys())
    if (to !== undefined && endOf(region, 0) <= startOf(region, 0))
      throw new UsageError(`klines: to: ${JSON.stringify(to)} does not come after from`);
  return { period, adjust, count, symbols: some, byRegion, rangeOf };
}

/**
 * The symbols that a caller names, as services write them, each once.
 *
 * @throws {UsageError} for none, for a text that is no symbol, and for an exchange that is not known.
 */
export function requestedSymbols(what: string, symbols: readonly string[]): string[] {
  if (!Array.isArray(symbols) || symbols.length === 0)
    throw new UsageError(`${what}: symbols is not a list of at least one symbol`, {
      hint: 'give a list such as ["600519.SH", "AAPL.US"]',
    });
  const some = [...new Set(symbols.map((symbol) => parseSymbol(String(symbol))))];
  const stranger = some.find((symbol) => regionOf(symbol) === undefined);
  if (stranger === undefined) return some;
  throw new UsageError(`${what}: the exchange of ${stranger} is not known`, {
    hint: `exchanges: ${Object.keys(EXCHANGE_REGION).join(", ")}`,
  });
}

/** Symbols with a known exchange, by region. */
export function symbolsByRegion(symbols: readonly string[]): Map<Region, string[]> {
  const byRegion = new Map<Region, string[]>();
  for (const symbol of symbols) {
    const region = regionOf(symbol) as Region;
    const own = byRegion.get(region);
    if (own === undefined) byRegion.set(region, [symbol]);
    else own.push(symbol);
  }
  return byRegion;
}

/** How much later than a landed bar the first bar of a period may be labelled, in milliseconds. */
export function labelledLaterMs(period: Period): number {
  const bucket = BUCKETS[period];
  if (bucket.kind === "minutes") return (bucket.minutes - 1) * 60_000;
  return Math.max(0, longestDays(bucket) - 1) * 86_400_000;
}

/** A number of landed bars that is below `rowCap` bars of a period in any division into buckets. */
export function landedCap(period: Period, barsOfDay: number, rowCap: number): number {
  const bucket = BUCKETS[period];
  if (basePeriod(period) === "1d" || bucket.kind !== "minutes") return rowCap;
  // A break of the session and the auction each begin a bucket.
  const most = Math.ceil(barsOfDay / bucket.minutes) + 2;
  return Math.max(1, Math.floor((rowCap - 1) / most)) * barsOfDay + 1;
}

type Edge = (region: Region, now: number) => number;

function edgeOf(name: string, time: TimeInput): Edge {
  if (!isDateText(time)) {
    const ms = epochMsOf(`klines: ${name}`, time);
    return () => ms;
  }
  const date = dateOption(`klines: ${name}`, time as string);
  return (region) => instantOf(date, REGIONS[region].zone);
}

const endOfToday: Edge = (region, now) => {
  const { zone } = REGIONS[region];
  return instantOf(addDays(localDate(now, zone), 1), zone);
};

function expectOne(option: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new UsageError(`klines: ${option}: ${JSON.stringify(value)} is not one of ${known.join(", ")}`);
}
