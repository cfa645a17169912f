import { subtractRanges, type TimeRange } from "../../../core/time.js";
import type { LandedPeriod } from "../../../market/period.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import { filteredBars } from "../../../plan/filtered-bars.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { LIMITS } from "../../../wire/endpoints.js";
import type { AbsentPart, Received } from "../../run/request/request-records.js";

/** The query of a request for all bars of a window, as the exchange reported them. */
export function klinesQuery(symbols: readonly string[], { start, end }: TimeRange, period: LandedPeriod) {
  return {
    symbols: symbols.join(","),
    period,
    count: LIMITS.maxCount,
    start_time: start,
    end_time: end - 1,
    adjust: "none",
  };
}

/** The ledger's facts of a decoded response. */
export function received(response: DecodedKlines): Received & { readonly response: DecodedKlines } {
  return {
    response,
    rows: response.columns.rows,
    rejected: response.issues.rejected,
    bytes: response.bytes,
    absent: response.absent,
    issues: response.issues.stored,
  };
}

/**
 * The requested windows that a response leaves open, as the ledger records them. An abandoned gap may contain time that
 * other responses have settled: it remains settled.
 */
function holesOf(
  { lost, abandoned }: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
): AbsentPart[] {
  const setAside = new Map<string, AbsentPart & { readonly symbols: string[] }>();
  for (const { symbol, window } of lost) {
    const key = `${window.start} ${window.end}`;
    const part = setAside.get(key);
    if (part === undefined) setAside.set(key, { symbols: [symbol], window, reason: "set_aside" });
    else part.symbols.push(symbol);
  }
  const unexplained = abandoned.flatMap((gap) =>
    subtractRanges(gap.window, answered.get(gap.symbol) ?? []).map(
      (left): AbsentPart => ({ symbols: [gap.symbol], window: left, reason: "unexplained" }),
    ),
  );
  return [...setAside.values(), ...unexplained];
}

/**
 * A response without the bars that must not land. The response to a request for older bars must not land the bars that were known before
 * it; any other response must not land the bars of symbols that are requested a second time. Bars of another period
 * never land.
 */
function barsToLand(
  { gaps, window, again }: Page,
  response: DecodedKlines,
  verdict: ResponseVerdict,
): DecodedKlines {
  const endOf = (symbol: string): number => gaps?.get(symbol)?.window.end ?? window.end;
  const known = gaps !== undefined;
  const repeated = new Set([
    ...(again === undefined ? verdict.absence.unconfirmed : []),
    ...verdict.mislabelled,
  ]);
  if (!known && !verdict.present.some((symbol) => repeated.has(symbol))) return response;
  const lands = (symbol: string, timestamp: number): boolean =>
    timestamp < endOf(symbol) && !repeated.has(symbol);
  return { ...response, columns: filteredBars(response.columns, lands) };
}

/** The expected form of the response to a page. */
export function expectationOf({ symbols, window }: Page) {
  return { shape: "map", symbols, window: { first: window.start, last: window.end - 1 } } as const;
}

/**
 * A response as it is landed and recorded in the ledger.
 *
 * @param answered windows with a full response that settled them, by symbol.
 */
export function judgedResponse(
  page: Page,
  response: DecodedKlines,
  verdict: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
) {
  return {
    ...received(barsToLand(page, response, verdict)),
    // Symbols of a follow-up request are known to have bars: a response without older bars does not make them absent.
    absent: page.gaps === undefined ? response.absent : [],
    verdict,
    parts: verdict.settled,
    holes: holesOf(verdict, answered),
  };
}
