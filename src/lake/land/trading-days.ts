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
import { fileRange } from "../files/prune.js";
import type { Lake } from "../lake.js";
import type { DataFile } from "../log/snapshot.js";
import { type LandOptions, type LandReport, upsert } from "./upsert.js";

/** Symbols with a daily bar on every trading day of their region: an index, or an ETF that is never suspended. */
export const CALENDAR_SYMBOLS: Readonly<Record<Region, readonly string[]>> = {
  CN: ["000001.SH"],
  HK: ["HSI.HK"],
  US: ["SPY.US"],
};
/** Fewest symbols from whose bars a region's trading days may be derived. */
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
 * Lands the trading days that follow from the lake's daily bars: the days of the region's index and, outside the span
 * of the index, the days on which at least half of the symbols traded. A symbol counts only between its first and last
 * bar. Days that are not final yet are left out.
 */
export async function landTradingDays(
  session: Session,
  lake: Lake,
  options: LandOptions,
): Promise<LandReport> {
  const snapshot = await lake.snapshot(BARS_1D);
  const regions = Object.keys(REGIONS) as Region[];
  const lastFinal = regions.map((region) => {
    const last = localDate(finalEnd(region, options.now) - 1, REGIONS[region].zone);
    return `WHEN ${literal(region)} THEN DATE ${literal(last)}`;
  });
  const tradedIn = async (files: Iterable<DataFile>): Promise<string> =>
    `(${await parquetRelation(session, lake.filesOf(snapshot, files))}) WHERE volume > 0 AND trade_date <= CASE region ${lastFinal.join(" ")} END`;
  const isIndex = regions.map((region) => `region = ${literal(region)} AND symbol IN ${indexes([region])}`);
  await using days = new TempTable(session, "trading_days");
  await days.fill(`SELECT DISTINCT region, trade_date, 'index' AS source FROM ${await tradedIn(snapshot.files.values())}
      AND symbol IN ${indexes(regions)} AND (${isIndex.join(" OR ")})`);
  const spans = await session.json<IndexSpan>(
    `SELECT region, CAST(min(trade_date) AS VARCHAR) AS first, CAST(max(trade_date) AS VARCHAR) AS last FROM ${days.name} GROUP BY region`,
  );
  const files = filesOfOpenRegions([...snapshot.files.values()], spans);
  if (files.length > 0) await session.run(majoritySql(days.name, await tradedIn(files)));
  return await upsert(session, lake, TRADING_DAYS, days.name, options);
}

/** The span from the first to the last bar of a region's index. */
interface IndexSpan {
  readonly region: Region;
  readonly first: TradingDate;
  readonly last: TradingDate;
}

/**
 * The files of the regions that have bars outside the span of their index, according to the log. Where the index covers
 * all days there are none, so that millions of bars need not be read.
 */
function filesOfOpenRegions(files: readonly DataFile[], spans: readonly IndexSpan[]): readonly DataFile[] {
  const spanOf = new Map<string, IndexSpan>(spans.map((span) => [span.region, span]));
  const regionIn = ({ partitionValues }: DataFile): string => partitionValues.region ?? "";
  const isWithin = (file: DataFile): boolean => {
    const span = spanOf.get(regionIn(file));
    const { start, end } = fileRange(file);
    if (span === undefined || !Number.isFinite(start) || !Number.isFinite(end)) return false;
    const { zone } = REGIONS[span.region];
    return localDate(start, zone) >= span.first && localDate(end - 1, zone) <= span.last;
  };
  const open = new Set(files.filter((file) => !isWithin(file)).map(regionIn));
  return files.filter((file) => open.has(regionIn(file)));
}

/** SQL that adds to the days of the index the days outside its span on which most symbols traded. */
function majoritySql(days: string, traded: string): string {
  return `INSERT INTO ${days}
    WITH index_spans AS (SELECT region, min(trade_date) AS first, max(trade_date) AS last FROM ${days} GROUP BY region),
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
    SELECT b.region, b.trade_date, 'majority' AS source
    FROM busy b LEFT JOIN index_spans i ON b.region = i.region AND b.trade_date BETWEEN i.first AND i.last
    WHERE i.region IS NULL`;
}

/** The symbols whose bars show the trading days of the given regions, as a list for IN. */
function indexes(regions: readonly Region[]): string {
  return `(${regions.flatMap((region) => CALENDAR_SYMBOLS[region].map(literal)).join(", ")})`;
}
