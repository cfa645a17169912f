import type { TimeRange } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import type { RequestRecord } from "../ledger/ledger.js";
import { responsesSince } from "../ledger/ledger.js";
import type { RunContext } from "../run/run-context.js";

/** Landed responses to later requests. Where they overlap an older response, the older response is out of date. */
export interface LaterResponses {
  /**
   * Whether a later response covers an instant of a symbol, with or without a bar. @param timestamp epoch milliseconds.
   */
  covers(symbol: string, timestamp: number): boolean;
  /** Whether a later response was about the symbol. */
  hasSymbol(symbol: string): boolean;
}

/** Reads the ledger's responses to requests that were sent after an older one; undefined where there are none. */
export async function laterResponses(
  { session, lake }: Pick<RunContext, "session" | "lake">,
  { dataset, askedAt, endpoint, symbols }: RequestRecord,
): Promise<LaterResponses | undefined> {
  const later = await responsesSince(session, lake, dataset, askedAt);
  if (later.length === 0) return undefined;
  const windows = new Map<string, TimeRange[]>();
  const snapshots: number[] = [];
  for (const one of later) {
    if (one.window !== undefined) windows.set(one.symbol, [...(windows.get(one.symbol) ?? []), one.window]);
    else if (one.endpoint === endpoint && symbols.includes(one.symbol)) snapshots.push(one.askedAt);
  }
  const isInDayOf = (at: number, symbol: string, timestamp: number): boolean => {
    const region = regionOf(symbol);
    if (region === undefined) return false;
    const { start, end } = dayRange(region, localDate(at, REGIONS[region].zone));
    return timestamp >= start && timestamp < end;
  };
  return {
    covers: (symbol, timestamp) =>
      (windows.get(symbol) ?? []).some(({ start, end }) => timestamp >= start && timestamp < end) ||
      // A snapshot of a universe contains the bars of its day.
      snapshots.some((at) => isInDayOf(at, symbol, timestamp)),
    hasSymbol: (symbol) => later.some((one) => one.symbol === symbol),
  };
}
