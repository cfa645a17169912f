import { BarlakeError, UsageError } from "../../core/errors.js";
import { groupBy } from "../../core/group-by.js";
import { type Issue, type IssueCount, IssueLog } from "../../core/issue.js";
import { parseTradingDate, type TimeRange } from "../../core/time.js";
import { isLoss } from "../../lake/land/rejects.js";
import {
  ADJUSTMENTS,
  type Adjustment,
  BUCKETS,
  basePeriod,
  longestDays,
  PERIODS,
  type Period,
} from "../../market/period.js";
import { EXCHANGE_REGION, REGIONS, type Region } from "../../market/regions.js";
import { addDays } from "../../market/sessions.js";
import { parseSymbol, regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import { LIMITS } from "../../wire/endpoints.js";
import { dateOption, epochMsOf, expectOptions, isDateText, type TimeInput } from "../inputs.js";

/** A window of a symbol about which no response says whether its bars are complete. */
export interface OpenWindow {
  readonly symbol: string;
  /** Epoch milliseconds; the end is exclusive. */
  readonly window: TimeRange;
  /**
   * `set_aside`: bars came, but could not be used; `other_period`: they are of another period; `unexplained`: responses
   * lack older bars, or bars that came before.
   */
  readonly reason: "set_aside" | "other_period" | "unexplained";
}

/** What the responses to a request for K-lines contained in addition to the bars. */
export interface KlineReport {
  /** Bars, columns and symbols that were set aside, each with its rule: the first 1000, and the first of each rule. */
  readonly issues: readonly Issue[];
  /** All issues, counted by rule and symbol. */
  readonly counts: readonly Readonly<IssueCount>[];
  /** Number of bars that were set aside. */
  readonly rejected: number;
  /** Requested symbols, or universes, that the service does not know. */
  readonly unknown: readonly string[];
  /** Requested symbols that the service knows, and that have no bar in the window. */
  readonly empty: readonly string[];
  readonly open: readonly OpenWindow[];
  /** Requests that were sent. */
  readonly requests: number;
}

export class GrowingReport implements KlineReport {
  readonly log = new IssueLog();
  readonly open: OpenWindow[] = [];
  readonly came = new Set<string>();
  unknown: readonly string[] = [];
  empty: readonly string[] = [];
  requests = 0;

  get issues(): readonly Issue[] {
    return this.log.stored;
  }

  get counts(): readonly Readonly<IssueCount>[] {
    return this.log.counts;
  }

  get rejected(): number {
    return this.log.rejected;
  }

  /** The report of all responses so far, without the state that collects them. */
  get current(): KlineReport {
    const { issues, counts, rejected, unknown, empty, open, requests } = this;
    return { issues, counts, rejected, unknown, empty, open, requests };
  }

  /** @throws {IncompleteError} where something of the request is missing. */
  expectComplete(): void {
    const lost = this.counts.filter(({ rule, rejected }) => isLoss({ rule, rows: rejected }));
    const parts = [
      ...(this.unknown.length > 0 ? [`the service does not know ${named(this.unknown)}`] : []),
      ...lost.map(
        ({ rule, symbol, rejected }) => `${symbol ?? "?"}: ${rejected} bars were set aside (${rule})`,
      ),
      ...this.open.map(({ symbol, reason }) => `${symbol}: a part of the window is open (${reason})`),
    ];
    if (parts.length > 0) throw new IncompleteError(parts, this.current);
  }
}

/** The result is not complete; `report` says what is missing. */
export class IncompleteError extends BarlakeError {
  readonly report: KlineReport;

  constructor(parts: readonly string[], report: KlineReport) {
    const more = parts.length > 3 ? `; and ${parts.length - 3} more` : "";
    super(`klines: ${parts.slice(0, 3).join("; ")}${more}`, {
      hint: "the error's report has all of it; without strict the bars that are sound are returned",
    });
    this.report = report;
  }
}

function named(symbols: readonly string[]): string {
  return symbols.slice(0, 5).join(", ") + (symbols.length > 5 ? ` and ${symbols.length - 5} more` : "");
}

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

export interface KlineRequest {
  readonly period: Period;
  readonly adjust: Adjustment;
  readonly count: number | undefined;
  /** In the order of the caller, each once. */
  readonly symbols: readonly string[];
  readonly byRegion: ReadonlyMap<Region, readonly string[]>;
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

export function symbolsByRegion(symbols: readonly string[]): Map<Region, string[]> {
  return groupBy(symbols, (symbol) => regionOf(symbol) as Region);
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
