import type { ServiceClient } from "../../client/service-client.js";
import { WireError } from "../../core/errors.js";
import type { TimeRange } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import { symbolSpans } from "../../plan/absence/window-beginning.js";
import { type DecodedKlines, decodeKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS } from "../../wire/endpoints.js";
import { klinesQuery } from "../ingest/klines-request.js";

/** Symbols and a time window that are requested again. */
export interface AskedWindow {
  readonly period: LandedPeriod;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
}

/** All bars that a service has of a window now. */
export interface WholeWindow {
  readonly responses: readonly DecodedKlines[];
  /** Symbols with unusable columns in a response: nothing is known about their bars. */
  readonly unusable: ReadonlySet<string>;
}

/** Most requests for a symbol that a response lacks, or that a response gives without a bar of an earlier response. */
const MOST_TRIES = 2;

/**
 * Requests everything that a service has of a window, as an ingest does: where the lake has older bars than those that
 * came, the response may be cut, and the older bars are requested; an absent symbol is requested a second time.
 *
 * @param oldestKnown the oldest bar that the lake has of each symbol in the window; epoch milliseconds.
 * @throws {ServiceError}, {@link TransportError} or {@link WireError} where a request fails, or where responses are not
 *   about the window.
 */
export async function askWindowAgain(
  client: ServiceClient,
  { period, symbols, window }: AskedWindow,
  oldestKnown: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<WholeWindow> {
  const responses: DecodedKlines[] = [];
  const unusable = new Set<string>();
  const tries = new Map<string, number>();
  const pages: Pick<AskedWindow, "symbols" | "window">[] = [{ symbols, window }];
  for (let page = pages.shift(); page !== undefined; page = pages.shift()) {
    const { symbols: own, window: part } = page;
    const expectation = {
      shape: "map",
      symbols: own,
      window: { first: part.start, last: part.end - 1 },
    } as const;
    const { value: response } = await client.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(own, part, period) },
      (body) => decodeKlines(body, expectation),
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
    const next = new Map<number, string[]>();
    const ask = (symbol: string, end: number): unknown => next.set(end, [...(next.get(end) ?? []), symbol]);
    for (const symbol of own) {
      const known = oldestKnown.get(symbol);
      if (known === undefined || unusable.has(symbol)) continue;
      const bars = came.get(symbol);
      const isPage = part.end < window.end;
      // A page ends with a bar that came before: a response without it is not about the symbol.
      if (bars === undefined || (isPage && bars.newest < part.end - 1)) {
        const made = (tries.get(symbol) ?? 0) + 1;
        tries.set(symbol, made);
        if (made < MOST_TRIES) ask(symbol, part.end);
        else if (isPage)
          throw new WireError("wrong_shape", `${symbol}: responses lack a bar that came before`, 0);
      } else if (bars.oldest > known && (!isPage || bars.oldest < part.end - 1)) ask(symbol, bars.oldest + 1);
    }
    for (const [end, some] of next) pages.push({ symbols: some, window: { start: part.start, end } });
  }
  return { responses, unusable };
}
