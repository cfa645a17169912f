import type { TradingDate } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import { REGION_NAMES, type Region } from "../../market/regions.js";
import { type IsUnknownBetween, unknownBetween } from "../../market/trading-calendar.js";
import type { PanelSymbol } from "./block.js";

/** The trading days that a lake knows, by region, ascending; a region of which none is known is absent. */
export type KnownDays = ReadonlyMap<Region, readonly TradingDate[]>;

/** @param session has the lake's views. */
export async function readKnownDays(session: Session): Promise<KnownDays> {
  const rows = await session.json<{ region: Region; dates: TradingDate[] }>(
    "SELECT region, list(CAST(trade_date AS VARCHAR) ORDER BY trade_date) AS dates FROM raw.trading_days GROUP BY region",
  );
  return new Map(rows.map(({ region, dates }) => [region, dates]));
}

/** The calendar of a symbol's region. */
export type CalendarOf = (symbol: PanelSymbol) => IsUnknownBetween;

export function calendarsOf(known: KnownDays): CalendarOf {
  const calendars = new Map(REGION_NAMES.map((region) => [region, unknownBetween(known.get(region) ?? [])]));
  return ({ region }) => calendars.get(region) as IsUnknownBetween;
}
