import type { TradingDate } from "../../core/time.js";
import { type ExRuleOf, type ExTerms, NO_TERMS } from "../../market/adjustment/ex-rule.js";
import { holesIn, sessionsIn } from "../../market/holes.js";
import type { Region } from "../../market/regions.js";
import type { Session } from "../session/session.js";
import { exTermsSql } from "./ex-terms-sql.js";

/** The trading days that a lake knows, by region, ascending; a region of which none is known is absent. */
export type KnownDays = ReadonlyMap<Region, readonly TradingDate[]>;

/** Relations with the rows of the tables from which rules follow, in addition to bars. */
export interface RuleRelations {
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
 * Where the price level of symbols changes, and where the lake may lack their bars, for all symbols.
 *
 * @param session has the lake's views. @param relations where the rows are. @default the views
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
