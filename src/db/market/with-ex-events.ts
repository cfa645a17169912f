import type { TradingDate } from "../../core/time.js";
import { literal } from "../quote.js";
import type { Session } from "../session/session.js";
import { namesSql, ofNamesSql, type StoredSymbols } from "./read-names.js";

/**
 * The symbols of which the lake knows an ex-event. The prices of all others are as traded, whatever adjustment is
 * asked for: what names an adjustment to a person says of them that no ex-event is known.
 *
 * @param session has the lake's views.
 * @param of.until the last date of an ex-event. @default all dates
 * @param of.stored the names of renamed instruments, whose history is one under each of them. @default each symbol alone
 */
export async function withExEvents(
  session: Session,
  symbols: readonly string[],
  of: { readonly until?: TradingDate; readonly stored?: StoredSymbols } = {},
): Promise<Set<string>> {
  if (symbols.length === 0) return new Set();
  const { until, stored } = of;
  const [names, events] =
    stored !== undefined && symbols.some((symbol) => stored.has(symbol))
      ? [ofNamesSql("ex_events", symbols, stored), `name_events(${namesSql(symbols)}, events := 'of_names')`]
      : ["", "ex_events"];
  const rows = await session.json<{ symbol: string }>(
    `${names} SELECT DISTINCT symbol FROM ${events} WHERE symbol IN (${symbols.map(literal).join(", ")})${
      until === undefined ? "" : ` AND ex_date <= DATE ${literal(until)}`
    }`,
  );
  return new Set(rows.map(({ symbol }) => symbol));
}
