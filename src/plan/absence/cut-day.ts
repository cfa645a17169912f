import { MINUTE_MS } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import { openMinute } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import type { KlineColumns } from "../../wire/kline-columns.js";
import { symbolSpans } from "./window-beginning.js";

/** A day of minutes that a service has probably cut. */
export interface CutDay {
  /** Number of symbols that have the largest number of bars, and lack the first minute. */
  readonly symbols: number;
  /** Number of bars of each of them. */
  readonly bars: number;
  /** The time of the oldest of these bars, in epoch milliseconds. */
  readonly since: number;
}

/**
 * Finds out whether a response about the latest day was cut at a number of bars for each symbol. Then the symbols with
 * the most bars have equally many, and none of them begins with its session. One symbol alone shows nothing, because it
 * may not have traded.
 *
 * @returns undefined where the day seems complete.
 */
export function cutDay(columns: KlineColumns): CutDay | undefined {
  const spans = symbolSpans(columns);
  const bars = spans.reduce((most, { start, end }) => Math.max(most, end - start), 0);
  const longest = spans.filter(({ start, end }) => end - start === bars);
  if (longest.length < 2) return undefined;
  let since = Number.POSITIVE_INFINITY;
  for (const { symbol, start } of longest) {
    const region = regionOf(symbol);
    if (region === undefined) return undefined;
    const first = Number(columns.timestamp[start]);
    const { zone } = REGIONS[region];
    // A minute is labelled with its end.
    if (first <= instantOf(localDate(first, zone), zone, openMinute(region)) + MINUTE_MS) return undefined;
    since = Math.min(since, first);
  }
  return { symbols: longest.length, bars, since };
}
