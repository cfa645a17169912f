import type { TradingDate } from "../../core/time.js";
import { type ExRuleOf, type ExTerms, NO_TERMS } from "../../market/ex-rule.js";
import { holesIn, sessionsIn } from "../../market/holes.js";
import type { Region } from "../../market/regions.js";
import { literal } from "../quote.js";
import type { Session } from "../session/session.js";
import { exTermsSql } from "./ex-terms-sql.js";

/** The trading days that a lake knows, by region, ascending; a region of which none is known is absent. */
type KnownDays = ReadonlyMap<Region, readonly TradingDate[]>;

/** Relations with the rows of the tables from which rules follow, in addition to bars. */
interface RuleRelations {
  readonly tradingDays: string;
  readonly absences: string;
  /** All versions. */
  readonly actions: string;
  readonly factors: string;
}

const OF_VIEWS: RuleRelations = {
  tradingDays: "raw.trading_days",
  absences: "raw.absences_1d",
  actions: "raw.corporate_actions",
  factors: "raw.ex_factors",
};

/** @param session has the lake's views. */
export async function readKnownDays(
  session: Session,
  tradingDays = OF_VIEWS.tradingDays,
): Promise<KnownDays> {
  const rows = await session.json<{ region: Region; dates: TradingDate[] }>(
    `SELECT region, list(CAST(trade_date AS VARCHAR) ORDER BY trade_date) AS dates FROM ${tradingDays} GROUP BY region`,
  );
  return new Map(rows.map(({ region, dates }) => [region, dates]));
}

/**
 * Where the price level of symbols changes, and where the lake may lack their bars, for all symbols. @param session has
 * the lake's views.
 */
export async function readExRules(session: Session, relations: RuleRelations = OF_VIEWS): Promise<ExRuleOf> {
  const tradingDays = await readKnownDays(session, relations.tradingDays);
  const rows = await session.json<{ symbol: string; days: number[] }>(
    `SELECT symbol, flatten(list([${dayOf("first_date")}, ${dayOf("last_date")}] ORDER BY first_date)) AS days
     FROM ${relations.absences} GROUP BY symbol`,
  );
  const terms = await readTerms(session, relations);
  const holeOf = holesIn({ tradingDays, absences: new Map(rows.map(({ symbol, days }) => [symbol, days])) });
  const sessionsOf = sessionsIn(tradingDays);
  return (one) => ({
    isHole: holeOf(one),
    hasSession: sessionsOf(one.region),
    terms: terms.get(one.symbol) ?? NO_TERMS,
  });
}

/** What counts of each ex-date, by symbol. Of an action its newest version. */
async function readTerms(
  session: Session,
  { actions, factors }: RuleRelations,
): Promise<ReadonlyMap<string, ExTerms>> {
  const rows = await session.json<{
    symbol: string;
    days: number[];
    shares: number[];
    paid: number[];
    tellers: number[];
  }>(
    `SELECT symbol, list(${dayOf("ex_date")} ORDER BY ex_date) AS days, list(shares ORDER BY ex_date) AS shares,
       list(paid ORDER BY ex_date) AS paid, list(teller ORDER BY ex_date) AS tellers
     FROM (
       SELECT *, CAST(dense_rank() OVER (ORDER BY witness, source) AS INTEGER) AS teller FROM (${exTermsSql(actions, factors)})
     ) WHERE priority = 1 GROUP BY symbol`,
  );
  return new Map(
    rows.map(({ symbol, days, shares, paid, tellers }) => [
      symbol,
      {
        days: Int32Array.from(days),
        shares: Float64Array.from(shares),
        paid: Float64Array.from(paid),
        tellers: Int32Array.from(tellers),
      },
    ]),
  );
}

function dayOf(name: string): string {
  return `CAST(${name} - DATE '1970-01-01' AS INTEGER)`;
}

/** The stored symbols of each name that a rename, or a code given to another company, is about. */
export type StoredSymbols = ReadonlyMap<string, readonly string[]>;

/** Reads which symbols make the one history of each name: the macro `symbol_names`. Without changes it is empty. */
export async function readNames(session: Session): Promise<StoredSymbols> {
  const [any] = await session.json("SELECT 1 FROM raw.symbol_changes LIMIT 1");
  if (any === undefined) return new Map();
  const rows = await session.json<{ name: string; symbols: string[] }>(
    "SELECT name, list(DISTINCT symbol ORDER BY symbol) AS symbols FROM symbol_names() GROUP BY name",
  );
  return new Map(rows.map(({ name, symbols }) => [name, symbols]));
}

/**
 * SQL before a SELECT that reads names: `of_names`, the rows of a view under the stored symbols of some names. The symbols are
 * written out, because only such a list reaches the files of every view.
 */
export function ofNamesSql(view: string, names: readonly string[], stored: StoredSymbols): string {
  const symbols = [...new Set(names.flatMap((name) => stored.get(name) ?? name))];
  return `WITH of_names AS NOT MATERIALIZED (FROM main.${view} WHERE symbol IN (${symbols.map(literal).join(", ")}))`;
}

export function namesSql(names: readonly string[]): string {
  return `[${names.map(literal).join(", ")}]`;
}

/**
 * The symbols of which the lake knows an ex-event until a date (@default ever). The prices of all others are as traded,
 * whatever adjustment is asked for. @param of.stored the names of renamed instruments, whose history is one under each
 * of them. @default each symbol alone
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
