import { shellWord } from "../../core/text-order.js";
import { DAY_MS } from "../../core/time.js";
import { returnBaseSql, returnSql, sharesSql } from "../../db/market/bar-sql.js";
import { perRegion } from "../../db/market/region-sql.js";
import { literal } from "../../db/quote.js";
import { byteCount, type Lake, rowCount } from "../../lake/lake.js";
import { freeBytesOf } from "../../lake/local/free-space.js";
import { readHistory } from "../../lake/log/history.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Reader } from "../../lake/open-reader.js";
import { type KnownAt, knownDates } from "../../market/known-at.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { sessionStatus } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { BARS_1D } from "../../schema/bars.js";
import { TABLES } from "../../schema/tables.js";
import type { LakeReport, MarketReport, QuoteReport, TableReport } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";

/** The tables of a state, from the log alone. @param location of the lake, in the form of commands */
export async function lakeSummary(
  lake: Lake,
  state: LakeState,
  location: string,
  now: number,
): Promise<LakeReport> {
  return {
    state: state.id,
    location: lake.location,
    lakeWord: shellWord(location),
    asOf: state.asOf ?? null,
    knownAt: state.known?.knownAt ?? null,
    assumesReference: state.known?.assumesReference ?? false,
    tables: state.snapshots
      .filter(({ version }) => version >= 0)
      .map((snapshot) => tableReport(snapshot, now)),
    refused: state.refused.map(({ table, error }) => ({
      name: table.name,
      message: error.message,
      hint: error.hint ?? null,
    })),
    freeBytes: lake.storage.access === undefined ? ((await freeBytesOf(lake.work.path)) ?? null) : null,
  };
}

function tableReport(snapshot: Snapshot, now: number): TableReport {
  const { table, version, files, committedAt } = snapshot;
  return {
    name: table.name,
    doc: table.doc.replace(/ Key:.*$/, ""),
    version,
    files: files.size,
    rows: rowCount(snapshot),
    bytes: byteCount(snapshot),
    committedAt: committedAt ?? null,
    ...daysOf(snapshot, now),
  };
}

/** The first and the last day of a table of bars until now, from the statistics of its files; null for other tables. */
function daysOf(
  { table, files }: Snapshot,
  now: number,
): { readonly first: string | null; readonly last: string | null } {
  let first: string | null = null;
  let last: string | null = null;
  if (table.span === undefined) return { first: null, last: null };
  for (const { stats, partitionValues } of files.values()) {
    const zone = zoneOf(partitionValues.region, stats?.minValues?.symbol);
    if (Date.parse(stats?.minValues?.timestamp ?? "") > now) continue;
    const today = localDate(now, zone);
    const [min, max] = [stats?.minValues?.timestamp, stats?.maxValues?.timestamp].map((text) =>
      text === undefined ? undefined : localDate(Date.parse(text), zone),
    );
    if (min !== undefined && (first === null || min < first)) first = min;
    if (max !== undefined && (last === null || max > last)) last = max > today ? today : max;
  }
  return { first, last };
}

function zoneOf(region: string | null | undefined, symbol: string | undefined): string {
  const known = region ?? (symbol === undefined ? undefined : regionOf(symbol));
  return Object.values(REGIONS).find((facts) => facts.region === known)?.zone ?? "UTC";
}

/** Commits within this time of each other, in milliseconds, are one step of the slider. */
const STEP_MS = 60_000;
/** Most steps that are returned: the newest ones. */
const MOST_STEPS = 400;

/** Epoch milliseconds of the versions of all tables, ascending; of commits in quick succession only the last. */
export async function commitTimes(lake: Lake): Promise<readonly number[]> {
  const histories = await Promise.all(
    TABLES.map((table) => readHistory(lake.storage, table).catch(() => [])),
  );
  const times = histories
    .flat()
    .flatMap(({ committedAt }) => (committedAt === undefined ? [] : [committedAt]));
  const sorted = times.sort((a, b) => a - b);
  const steps = sorted.filter((time, at) => (sorted[at + 1] ?? time + DAY_MS) - time > STEP_MS);
  return steps.slice(-MOST_STEPS);
}

/** Number of instruments shown for each region: those with the largest amount. */
const MOST_TRADED = 5;
/** Number of days within which the previous bar is searched for: longer than any holiday. */
const LOOK_BACK_DAYS = 21;

type MarketRow = Omit<MarketReport, "region" | "status" | "traded"> & { readonly region: string };

/** The columns of a {@link QuoteReport}, and its source, for rows of {@link quotedSql}. */
const QUOTE = `symbol, i.name, trade_date::VARCHAR AS day, close, change, traded AS amount`;
const NAMED = `LEFT JOIN (SELECT symbol, name FROM instruments) AS i USING (symbol)`;

/**
 * The newest bars with their change, as the view `returns` has it, and their traded amount. @param bars rows of bars_1d
 * with `is_newest`, and the bars before them. @param symbols those that may have an ex-event on their newest day
 */
function quotedSql(bars: string, symbols: readonly string[]): string {
  const told =
    symbols.length === 0
      ? "SELECT NULL::VARCHAR AS symbol, NULL::DATE AS ex_date, NULL::DOUBLE AS told_close WHERE false"
      : `SELECT symbol, ex_date, last_close / factor AS told_close FROM ex_events
         WHERE source IS NOT NULL AND symbol IN (${symbols.map(literal).join(", ")})`;
  return `SELECT *, ${returnSql("close", "base")} AS change,
      CASE WHEN amount > 0 THEN amount ELSE close * ${sharesSql("volume", "lot")} END AS traded
    FROM (
      SELECT b.*, coalesce(told_close, own_base) AS base
      FROM (
        SELECT *, ${returnBaseSql("prev_close", 'lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp")')} AS own_base
        FROM (${bars})
      ) AS b
      LEFT JOIN (${told}) AS e ON e.symbol = b.symbol AND e.ex_date = b.trade_date
      WHERE is_newest
    )`;
}

/** SQL of a region's date at the time that is shown: bars of later dates are not shown. */
function todaySql(at: KnownAt): string {
  return perRegion("region", (facts) => `DATE '${knownDates(at, facts.region).today}'`);
}

/** The newest bar of each of some instruments, in the order of the symbols. @param at the time that is shown. */
export async function readQuotes(
  { session }: Reader,
  symbols: readonly string[],
  at: KnownAt,
): Promise<QuoteReport[]> {
  if (symbols.length === 0) return [];
  const bars = `SELECT *, row_number() OVER (PARTITION BY symbol ORDER BY "timestamp" DESC) = 1 AS is_newest
    FROM raw.bars_1d WHERE symbol IN (${symbols.map(literal).join(", ")}) AND trade_date <= ${todaySql(at)}`;
  const found = await session.json<QuoteReport>(
    `SELECT ${QUOTE} FROM (${quotedSql(bars, symbols)}) ${NAMED}`,
  );
  return found.sort((a, b) => symbols.indexOf(a.symbol) - symbols.indexOf(b.symbol));
}

/** A summary of each region's newest landed session. @param at the time that is shown. */
export async function marketSummary({ session, snapshots }: Reader, at: KnownAt): Promise<MarketReport[]> {
  const snapshot = snapshots.find(({ table }) => table === BARS_1D);
  const years = new Map<Region, number>();
  for (const { partitionValues } of snapshot?.files.values() ?? []) {
    const { region, year } = partitionValues;
    if (region == null || !isRegion(region)) continue;
    const isPast = Number(year) <= Number(knownDates(at, region).today.slice(0, 4));
    if (isPast) years.set(region, Math.max(years.get(region) ?? 0, Number(year)));
  }
  if (years.size === 0) return [];
  // Only the newest partitions of each region are read; the others need not be opened.
  const partitions = (before: number): string =>
    [...years]
      .map(([region, year]) => `(region = '${region}' AND year >= ${Math.trunc(year) - before})`)
      .join(" OR ");
  const days = await session.json<{ region: string; day: string }>(
    `SELECT region, max(trade_date)::VARCHAR AS day FROM raw.bars_1d
     WHERE (${partitions(0)}) AND trade_date <= ${todaySql(at)} GROUP BY region`,
  );
  if (days.length === 0) return [];
  // To compute the ex-events of all symbols would take longer than everything else.
  const told = await session.json<{ symbol: string }>(
    `SELECT DISTINCT symbol FROM (SELECT symbol, ex_date FROM corporate_actions UNION ALL SELECT symbol, ex_date FROM ex_factors)
     WHERE ${days.map(({ day }) => `ex_date BETWEEN DATE '${day}' - ${LOOK_BACK_DAYS} AND DATE '${day}'`).join(" OR ")}`,
  );
  const bars = `SELECT b.*, b.trade_date = days.day AS is_newest
    FROM (SELECT * FROM raw.bars_1d WHERE ${partitions(1)}) AS b
    JOIN (VALUES ${days.map(({ region, day }) => `('${region}', DATE '${day}')`).join(", ")}) AS days(region, day) USING (region)
    WHERE b.trade_date > days.day - ${LOOK_BACK_DAYS} AND b.trade_date <= days.day`;
  const symbols = told.map(({ symbol }) => symbol);
  const newest = `WITH newest AS MATERIALIZED (${quotedSql(bars, symbols)})`;
  const rows = await session.json<MarketRow>(
    `${newest}
     SELECT region, any_value(trade_date)::VARCHAR AS day, count(*)::INT AS bars,
       count(*) FILTER (change > 0)::INT AS up, count(*) FILTER (change < 0)::INT AS down,
       count(*) FILTER (change = 0)::INT AS unchanged, count(*) FILTER (change IS NULL)::INT AS "unknown",
       count(*) FILTER (NOT is_final)::INT AS open
     FROM newest GROUP BY region ORDER BY region`,
  );
  const traded = await session.json<QuoteReport & { readonly region: string }>(
    `${newest}
     SELECT region, ${QUOTE}
     FROM (SELECT * FROM newest WHERE traded > 0
       QUALIFY row_number() OVER (PARTITION BY region ORDER BY traded DESC, symbol) <= ${MOST_TRADED}) ${NAMED}
     ORDER BY region, amount DESC, symbol`,
  );
  return rows.map(({ region, ...row }) => ({
    region: region as Region,
    ...row,
    status: isRegion(region) ? sessionStatus(region, knownDates(at, region).until) : "closed",
    traded: traded.filter((one) => one.region === region),
  }));
}
