import type { TradingDate } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import { BARS_1D } from "../../schema/bars.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import type { Lake } from "../lake.js";
import { type LandOptions, type LandReport, upsert } from "./upsert.js";

/** Symbols with a daily bar on every day on which their region trades: an index, or an ETF that never pauses. */
export const CALENDAR_SYMBOLS: Readonly<Record<Region, readonly string[]>> = {
  CN: ["000001.SH"],
  HK: ["HSI.HK"],
  US: ["SPY.US"],
};
/** Fewest symbols whose bars together show on which days a region traded. */
export const FEWEST_SYMBOLS = 10;

/** The trading days that the lake knows, by region, ascending. */
export async function readTradingDays(session: Session, lake: Lake): Promise<Map<Region, TradingDate[]>> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(TRADING_DAYS)));
  const rows = await session.json<{ region: Region; dates: TradingDate[] }>(
    `SELECT region, list(CAST(trade_date AS VARCHAR) ORDER BY trade_date) AS dates FROM (${files}) GROUP BY region`,
  );
  return new Map(rows.map(({ region, dates }) => [region, dates]));
}

/**
 * Lands the trading days that follow from the lake's daily bars: those of the region's index and, outside of the span
 * of its bars, those on which at least half of the symbols traded. Only symbols between their first and last bar count.
 * Days that are not final yet are left out.
 */
export async function landTradingDays(
  session: Session,
  lake: Lake,
  options: LandOptions,
): Promise<LandReport> {
  const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
  const regions = Object.keys(REGIONS) as Region[];
  const lastFinal = regions.map((region) => {
    const last = localDate(finalEnd(region, options.now) - 1, REGIONS[region].zone);
    return `WHEN ${literal(region)} THEN DATE ${literal(last)}`;
  });
  const isIndex = regions.map((region) => `region = ${literal(region)} AND symbol IN ${indexes([region])}`);
  // The bars of the indexes are few; all bars are read once, for the lives of the symbols and for the days.
  const traded = `(${bars}) WHERE volume > 0 AND trade_date <= CASE region ${lastFinal.join(" ")} END`;
  await using days = new TempTable(session, "trading_days");
  await days.fill(`WITH index_days AS (
      SELECT DISTINCT region, trade_date FROM ${traded}
        AND symbol IN ${indexes(regions)} AND (${isIndex.join(" OR ")})),
    index_spans AS (SELECT region, min(trade_date) AS first, max(trade_date) AS last FROM index_days GROUP BY region),
    grouped AS MATERIALIZED (
      SELECT region, trade_date, min(trade_date) AS first, max(trade_date) AS last, count(*) AS symbols, grouping(symbol) = 0 AS is_life
      FROM ${traded} GROUP BY GROUPING SETS ((region, symbol), (region, trade_date))),
    lives AS (SELECT region, first, last FROM grouped WHERE is_life),
    days AS (SELECT region, trade_date, symbols FROM grouped WHERE NOT is_life),
    changes AS (
      SELECT region, first AS day, 1 AS change FROM lives UNION ALL SELECT region, last + 1, -1 FROM lives),
    alive AS (
      SELECT DISTINCT region, day, sum(change) OVER (PARTITION BY region ORDER BY day) AS symbols FROM changes),
    busy AS (
      SELECT d.region, d.trade_date FROM days d ASOF JOIN alive a ON d.region = a.region AND d.trade_date >= a.day
      WHERE a.symbols >= ${FEWEST_SYMBOLS} AND 2 * d.symbols >= a.symbols)
    SELECT region, trade_date, 'index' AS source FROM index_days
    UNION ALL
    SELECT b.region, b.trade_date, 'majority' AS source
    FROM busy b LEFT JOIN index_spans i ON b.region = i.region AND b.trade_date BETWEEN i.first AND i.last
    WHERE i.region IS NULL`);
  return await upsert(session, lake, TRADING_DAYS, days.name, options);
}

/** The symbols whose bars show the trading days of some regions, as a list for IN. */
function indexes(regions: readonly Region[]): string {
  return `(${regions.flatMap((region) => CALENDAR_SYMBOLS[region].map(literal)).join(", ")})`;
}
