import type { TradingDate } from "../../core/time.js";
import { type HoleOf, holesIn } from "../../market/holes.js";
import type { Region } from "../../market/regions.js";
import type { Session } from "../session/session.js";

/** The trading days that a lake knows, by region, ascending; a region of which none is known is absent. */
export type KnownDays = ReadonlyMap<Region, readonly TradingDate[]>;

/** Relations with the rows of two tables. */
export interface HoleRelations {
  readonly tradingDays: string;
  readonly absences: string;
}

const OF_VIEWS: HoleRelations = { tradingDays: "raw.trading_days", absences: "raw.absences_1d" };

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
 * Where the lake may lack bars of symbols, for all symbols.
 *
 * @param session has the lake's views. @param relations where the rows are. @default the views
 */
export async function readHoles(session: Session, relations: HoleRelations = OF_VIEWS): Promise<HoleOf> {
  const tradingDays = await readKnownDays(session, relations.tradingDays);
  const day = (name: string): string => `CAST(${name} - DATE '1970-01-01' AS INTEGER)`;
  const rows = await session.json<{ symbol: string; days: number[] }>(
    `SELECT symbol, flatten(list([${day("first_date")}, ${day("last_date")}] ORDER BY first_date)) AS days
     FROM ${relations.absences} GROUP BY symbol`,
  );
  return holesIn({ tradingDays, absences: new Map(rows.map(({ symbol, days }) => [symbol, days])) });
}
