import { DAY_MS, type TimeRange, type TradingDate, unionRanges } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { REGION_NAMES, REGIONS, type Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import { instantOf, localDate } from "../../market/zone.js";
import { BARS_1D, TRADING_DAYS } from "../../schema/bars.js";
import { fileRange } from "../files/prune.js";
import type { Lake } from "../lake.js";
import { commitWithRetries } from "../log/commit.js";
import { commitInfoAction } from "../log/commit-actions.js";
import type { Txn } from "../log/delta-actions.js";
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
 * The name of the record, in the log of the trading days, of the time up to which files were searched for days without
 * a bar of the index. A lake without the record is searched completely, once.
 */
const SEARCH = "barlake/days-without-index";
/** Files that were written up to this time before the recorded one are searched again: clocks may differ. */
const CLOCK_MARGIN_MS = 2 * DAY_MS;
/** A search that found no new day is recorded if the last record is older than this. */
const RECORD_AFTER_MS = 2 * DAY_MS;
/** A day is compared with the trading days before and after it that are no further from it than this. */
const NEIGHBOUR_DAYS = 30;

/**
 * Lands the trading days that follow from the lake's daily bars: the days of the region's index and, outside the span
 * of the index, the days on which at least half of the symbols traded. A symbol counts only between its first and last
 * bar. Within the span, a day without a bar of the index is a trading day where at least half as many symbols traded as
 * on the trading day before or after it: the service may lack a bar of its index. Days that are not final yet are left
 * out.
 */
export async function landTradingDays(
  session: Session,
  lake: Lake,
  options: LandOptions,
): Promise<LandReport> {
  const snapshot = await lake.snapshot(BARS_1D);
  const regions = REGION_NAMES;
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
  const live = [...snapshot.files.values()];
  const open = filesOfOpenRegions(live, spans);
  if (open.length > 0) await session.run(majoritySql(days.name, await tradedIn(open)));
  const searchedUntil = (await lake.snapshot(TRADING_DAYS)).txns.get(SEARCH)?.version;
  const unsearched = spans.length > 0 ? filesToSearch(live, searchedUntil, options.now) : [];
  const missing = unsearched.length > 0 ? await busyDays(session, days.name, await tradedIn(unsearched)) : [];
  const near = live.filter((file) => missing.some((day) => isNear(file, day)));
  if (near.length > 0) await session.run(holesSql(days.name, missing, await tradedIn(near)));
  // Without a time of its last change, a record remains in all checkpoints.
  const progress: Txn = { appId: SEARCH, version: options.now };
  const report = await upsert(session, lake, TRADING_DAYS, days.name, { ...options, progress });
  const isOld = Math.abs(options.now - (searchedUntil ?? 0)) > RECORD_AFTER_MS;
  if (report.filesAdded === 0 && isOld) await recordSearch(lake, progress, options);
  return report;
}

/** Records a search that found no new day, so that the next one does not search the same files. */
async function recordSearch(lake: Lake, txn: Txn, options: LandOptions): Promise<void> {
  const base = await lake.snapshot(TRADING_DAYS);
  if (base.version < 0) return;
  const actions = [commitInfoAction(options, {}), { txn }];
  const { now, fence } = options;
  await commitWithRetries(lake, base, { actions, stillHolds: () => true, now, fence });
}

/**
 * The files in which a day without a bar of the index may be found: those that were written since the last search, and
 * those of the days around, as the bars with which a day is compared may land after the bars of the day.
 */
function filesToSearch(
  live: readonly DataFile[],
  searchedUntil: number | undefined,
  now: number,
): readonly DataFile[] {
  if (searchedUntil === undefined) return live;
  // A clock that was ahead once does not end the search.
  const since = Math.min(searchedUntil, now) - CLOCK_MARGIN_MS;
  const ranges = new Map<string, TimeRange[]>();
  for (const file of live) {
    if (file.writtenAt <= since) continue;
    const { start, end } = fileRange(file);
    const own = ranges.get(regionIn(file)) ?? [];
    own.push({ start: start - NEIGHBOUR_DAYS * DAY_MS, end: end + NEIGHBOUR_DAYS * DAY_MS });
    ranges.set(regionIn(file), own);
  }
  const around = new Map([...ranges].map(([region, some]) => [region, unionRanges(some)]));
  return live.filter((file) => {
    const { start, end } = fileRange(file);
    return around.get(regionIn(file))?.some((range) => start < range.end && end > range.start) === true;
  });
}

/** The region of a file's partition; empty where another program wrote none. */
function regionIn({ partitionValues }: DataFile): string {
  return partitionValues.region ?? "";
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

/** A day on which symbols traded although the index of their region has no bar, between its first and its last. */
interface MissingDay {
  readonly region: Region;
  readonly date: TradingDate;
}

/** The days without a bar of the index, in its span, on which some symbol traded. */
function busyDays(session: Session, days: string, traded: string): Promise<MissingDay[]> {
  return session.json(`
    WITH index_spans AS (
      SELECT region, min(trade_date) AS first, max(trade_date) AS last FROM ${days} WHERE source = 'index' GROUP BY region)
    SELECT b.region, CAST(b.trade_date AS VARCHAR) AS date
    FROM (SELECT DISTINCT region, trade_date FROM ${traded}) b
    JOIN index_spans i ON b.region = i.region AND b.trade_date BETWEEN i.first AND i.last
    ANTI JOIN ${days} d ON b.region = d.region AND b.trade_date = d.trade_date
    ORDER BY ALL`);
}

/** Whether a file may have bars of a day, or of the days with which it is compared. */
function isNear(file: DataFile, { region, date }: MissingDay): boolean {
  if ((file.partitionValues.region ?? region) !== region) return false;
  const { start, end } = fileRange(file);
  const midnight = instantOf(date, REGIONS[region].zone);
  return start < midnight + NEIGHBOUR_DAYS * DAY_MS && end > midnight - NEIGHBOUR_DAYS * DAY_MS;
}

/**
 * Adds those of some days on which at least half as many symbols traded as on the trading day before or after. Where
 * the bars of these have not landed, too few symbols traded on them to compare with.
 */
function holesSql(days: string, missing: readonly MissingDay[], traded: string): string {
  const rows = missing.map(({ region, date }) => `(${literal(region)}, DATE ${literal(date)})`);
  return `INSERT INTO ${days}
    WITH missing(region, trade_date) AS (VALUES ${rows.join(", ")}),
    counts AS MATERIALIZED (SELECT region, trade_date, count(*) AS symbols FROM ${traded} GROUP BY region, trade_date),
    usual AS (SELECT c.* FROM counts c SEMI JOIN ${days} d ON c.region = d.region AND c.trade_date = d.trade_date)
    SELECT m.region, m.trade_date, 'majority' AS source
    FROM missing m JOIN counts c ON c.region = m.region AND c.trade_date = m.trade_date
    ASOF JOIN usual b ON b.region = m.region AND b.trade_date < m.trade_date
    ASOF JOIN usual a ON a.region = m.region AND a.trade_date > m.trade_date
    WHERE a.trade_date - b.trade_date <= ${NEIGHBOUR_DAYS} AND least(a.symbols, b.symbols) >= ${FEWEST_SYMBOLS}
      AND c.symbols >= ${FEWEST_SYMBOLS} AND 2 * c.symbols >= least(a.symbols, b.symbols)`;
}

/** The symbols whose bars show the trading days of the given regions, as a list for IN. */
function indexes(regions: readonly Region[]): string {
  return `(${regions.flatMap((region) => CALENDAR_SYMBOLS[region].map(literal)).join(", ")})`;
}
