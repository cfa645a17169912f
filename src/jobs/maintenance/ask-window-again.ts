import { decodeKlineResponse } from "../../arrow/stream/decode-kline-response.js";
import type { ServiceClient } from "../../client/service-client.js";
import { WireError } from "../../core/errors.js";
import type { TimeRange } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import { judgeAbsence } from "../../plan/absence/absent-symbols.js";
import { symbolSpans } from "../../plan/absence/window-beginning.js";
import type { DecodedKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { klinesQuery } from "../ingest/bars/klines-request.js";

/** Symbols and a time window that are requested again. */
export interface AskedWindow {
  readonly period: LandedPeriod;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /**
   * Another symbol, which should have bars in the window. If its bars are received, the absence of the requested
   * symbols counts. @default none
   */
  readonly control?: string | undefined;
}

/** All bars in a window that a service has now. */
export interface WholeWindow {
  readonly responses: readonly DecodedKlines[];
  /** Symbols with unusable columns in a response: nothing is known about their bars. */
  readonly unusable: ReadonlySet<string>;
}

/**
 * Most requests for a symbol that a response lacks, or that a response contains without a bar of an earlier response.
 */
const MOST_TRIES = 2;

/**
 * Requests everything that a service has of a window, as an ingest does. If the lake has older bars than those
 * received, the response may be cut, and the older bars are requested. An absent symbol is requested a second time. Its
 * absence is judged as in an ingest: a response without any bar of a requested symbol shows nothing.
 *
 * @param oldestKnown the oldest bar of each symbol in the window that the lake has; epoch milliseconds.
 * @throws {ServiceError}, {@link TransportError} or {@link WireError} where a request fails, or where responses are not
 *   about the window, or do not show whether a symbol has bars.
 */
export async function askWindowAgain(
  client: ServiceClient,
  { period, symbols, window, control }: AskedWindow,
  oldestKnown: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<WholeWindow> {
  const responses: DecodedKlines[] = [];
  const unusable = new Set<string>();
  /** Symbols with bars in a response, or with an absence that counts. */
  const shown = new Set<string>();
  const tries = new Map<string, number>();
  const pages: Pick<AskedWindow, "symbols" | "window">[] = [{ symbols, window }];
  for (let page = pages.shift(); page !== undefined; page = pages.shift()) {
    const { symbols: own, window: part } = page;
    const named = control === undefined || own.length >= LIMITS.symbolsPerRequest ? own : [...own, control];
    const expectation = {
      shape: "map",
      symbols: named,
      window: { first: part.start, last: part.end - 1 },
    } as const;
    const { value: response } = await client.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(named, part, period), arrow: true },
      (body, contentType) => decodeKlineResponse(body, contentType, expectation),
      signal,
    );
    responses.push(response);
    for (const symbol of response.unusable) unusable.add(symbol);
    const came = new Map(
      symbolSpans(response.columns).map(({ symbol, start, end }) => {
        const [oldest, newest] = [response.columns.timestamp[start], response.columns.timestamp[end - 1]];
        return [symbol, { oldest: Number(oldest), newest: Number(newest) }] as const;
      }),
    );
    for (const symbol of shownBy(response)) shown.add(symbol);
    const next = new Map<number, string[]>();
    const ask = (symbol: string, end: number): unknown => next.set(end, [...(next.get(end) ?? []), symbol]);
    for (const symbol of own) {
      const known = oldestKnown.get(symbol);
      if (known === undefined || unusable.has(symbol)) continue;
      const bars = came.get(symbol);
      const isPage = part.end < window.end;
      // A page must end with the bar that was received before it. Otherwise the response does not show the symbol's
      // bars.
      if (bars === undefined || !shown.has(symbol) || (isPage && bars.newest < part.end - 1)) {
        const made = (tries.get(symbol) ?? 0) + 1;
        tries.set(symbol, made);
        if (made < MOST_TRIES) ask(symbol, part.end);
        else if (isPage)
          throw new WireError("wrong_shape", `${symbol}: responses lack a bar that came before`, 0);
      } else if (bars.oldest > known && (!isPage || bars.oldest < part.end - 1)) ask(symbol, bars.oldest + 1);
    }
    for (const [end, some] of next) pages.push({ symbols: some, window: { start: part.start, end } });
  }
  const open = symbols.find(
    (symbol) => oldestKnown.has(symbol) && !unusable.has(symbol) && !shown.has(symbol),
  );
  if (open !== undefined)
    throw new WireError("wrong_shape", `${open}: no response shows whether the service has its bars`, 0, {
      hint: "name also a symbol that has bars in this window: an empty response can be a fault of the service",
    });
  return { responses, unusable };
}

/**
 * The symbols about which a response shows something: those with bars in the window, and those that count as absent.
 */
function shownBy({ columns, issues, received, absent }: DecodedKlines): Set<string> {
  const hasRule = (...rules: readonly string[]) => issues.counts.filter(({ rule }) => rules.includes(rule));
  const strayed = new Set(hasRule("outside_window").map(({ symbol }) => symbol));
  const hasStrangers = hasRule("not_requested", "bad_symbol").length > 0;
  const came = [...received].flatMap(([symbol, bars]) => (bars > 0 && !strayed.has(symbol) ? [symbol] : []));
  const { confirmed } = judgeAbsence(absent, { present: columns.symbols.length, hasStrangers });
  return new Set([...came, ...confirmed]);
}
