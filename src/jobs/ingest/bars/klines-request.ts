import { subtractRanges, type TimeRange } from "../../../core/time.js";
import type { LandedPeriod } from "../../../market/period.js";
import { BARS_SET_ASIDE } from "../../../plan/absence/absence.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import { filteredBars } from "../../../plan/filtered-bars.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { LIMITS } from "../../../wire/endpoints.js";
import type { AbsentPart, Received } from "../../run/request/request-records.js";

/** The query of a request for all bars in a window, without adjustment. */
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

/** The facts for the ledger about a decoded response. */
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
 * The requested windows that a response leaves open, in the form of the ledger. Time in an abandoned gap that other
 * responses have settled remains settled.
 */
function holesOf(
  { lost, abandoned }: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
): AbsentPart[] {
  const setAside = new Map<string, AbsentPart & { readonly symbols: string[] }>();
  for (const { symbol, window } of lost) {
    const key = `${window.start} ${window.end}`;
    const part = setAside.get(key);
    if (part === undefined) setAside.set(key, { symbols: [symbol], window, reason: BARS_SET_ASIDE });
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
 * A response without the bars that must not land. From a request for older bars, these are the bars that were known
 * before; from any other request, the bars of symbols that are requested again. Bars of another period never land.
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

/** What the response to a page must be about. */
export function expectationOf({ symbols, window }: Page) {
  return { shape: "map", symbols, window: { first: window.start, last: window.end - 1 } } as const;
}

/**
 * A response in the form in which it lands and is recorded in the ledger.
 *
 * @param answered windows that a full response has settled, by symbol.
 */
export function judgedResponse(
  page: Page,
  response: DecodedKlines,
  verdict: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
) {
  return {
    ...received(barsToLand(page, response, verdict)),
    // Symbols of a follow-up request are known to have bars, so a response without older bars does not make them
    // absent.
    absent: page.gaps === undefined ? response.absent : [],
    verdict,
    parts: verdict.settled,
    empty: verdict.empty,
    holes: holesOf(verdict, answered),
  };
}
