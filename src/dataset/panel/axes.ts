import { LakeError, UsageError } from "../../core/errors.js";
import type { TradingDate } from "../../core/time.js";
import { calendarBucketSql } from "../../db/market/bucket-sql.js";
import { readKnownDays } from "../../db/market/read-ex-rules.js";
import { regionSql } from "../../db/market/region-sql.js";
import { literal, literalList } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { BUCKETS, basePeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { isSymbol, SYMBOL_GRAMMAR } from "../../market/symbol.js";
import { unknownSpans } from "../../market/trading-calendar.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M } from "../../schema/bars.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import type { Labels, PanelSymbol } from "./block.js";

/** Dates of a region that count as sessions although the lake does not know whether they were trading days. */
interface AssumedSessions {
  readonly region: Region;
  readonly dates: number;
  readonly first: TradingDate;
  readonly last: TradingDate;
}

/**
 * Adds to a table of trading days the weekdays on which anything traded, where a region's trading days are not known.
 * @param options.regions those of which some trading days are known. @param options.window an SQL condition on
 * `trade_date`.
 */
async function assumeSessions(
  session: Session,
  sessions: TempTable,
  {
    regions,
    bars,
    window,
  }: { readonly regions: readonly Region[]; readonly bars: string; readonly window: string },
): Promise<AssumedSessions[]> {
  const assumed: AssumedSessions[] = [];
  const known = await readKnownDays(session);
  for (const region of regions) {
    const spans = unknownSpans(known.get(region) ?? []).map(({ after, before }) =>
      [
        "true",
        ...(after === undefined ? [] : [`trade_date > DATE ${literal(after)}`]),
        ...(before === undefined ? [] : [`trade_date < DATE ${literal(before)}`]),
      ].join(" AND "),
    );
    const traded = await session.json<{ day: TradingDate }>(
      `SELECT DISTINCT CAST(trade_date AS VARCHAR) AS day FROM ${bars}
       WHERE region = ${literal(region)} AND ${window} AND (${spans.join(" OR ")})
         AND volume > 0 AND is_final AND isodow(trade_date) < 6 ORDER BY day`,
    );
    const dates = traded.map(({ day }) => day);
    const [first, last] = [dates[0], dates.at(-1)];
    if (first === undefined || last === undefined) continue;
    await session.run(
      `INSERT INTO ${sessions.name}
       SELECT day FROM (SELECT unnest(${literalList(dates)})::DATE AS day) ANTI JOIN ${sessions.name} USING (day)`,
    );
    assumed.push({ region, dates: dates.length, first, last });
  }
  return assumed;
}

/** The columns of a universe: `from_date` inclusive, `to_date` exclusive; null: unbounded. */
const UNDATED = "NULL::DATE AS from_date, NULL::DATE AS to_date, NULL::DATE AS seen_from";

/**
 * A universe's members: `symbol, from_date, to_date`, a row for each range of dates, and `seen_from`: when the universe
 * was first seen, if its first members are assumed for the time before. @throws {UsageError} for a query without a
 * column `symbol`.
 */
async function universeSql(session: Session, { name, universe }: DatasetSpec): Promise<string> {
  if (typeof universe === "string") return snapshotsSql(universe);
  if (Array.isArray(universe))
    return `SELECT DISTINCT unnest(${literalList(universe)}) AS symbol, ${UNDATED}`;
  if ("region" in universe) return regionUniverseSql(universe);
  const { sql } = universe;
  const columns = await session.json<{ column_name: string }>(`DESCRIBE ${sql.replace(/[\s;]+$/, "")}`);
  const has = (column: string): boolean => columns.some((one) => one.column_name === column);
  if (!has("symbol")) {
    throw new UsageError(`dataset ${name}: universe: the query gives no column symbol`, {
      hint: "let it give symbol and, where membership is dated, from_date and to_date",
    });
  }
  const date = (column: string): string => (has(column) ? `CAST(${column} AS DATE)` : "NULL::DATE");
  return `SELECT DISTINCT CAST(symbol AS VARCHAR) AS symbol, ${date("from_date")} AS from_date, ${date("to_date")} AS to_date,
    NULL::DATE AS seen_from FROM (${sql.replace(/[\s;]+$/, "")}) WHERE symbol IS NOT NULL`;
}

/** Members as seen by the lake; the macro `members` returns the same for each date. */
function snapshotsSql(id: string): string {
  return `SELECT symbol, CASE WHEN valid_from = first THEN NULL ELSE seen_from END AS from_date, seen_to AS to_date,
      local_date(first, region) AS seen_from
    FROM (SELECT symbol, region, valid_from, min(valid_from) OVER () AS first,
      local_date(valid_from, region) AS seen_from, local_date(valid_to, region) AS seen_to
      FROM raw.universe_members WHERE id = ${literal(id)})
    WHERE seen_to IS NULL OR seen_from < seen_to`;
}

/**
 * All symbols of the lake that ever had a bar in a region: members from their first bar on, until known to be delisted.
 * What was delisted before the lake first saw the region's instruments may have none.
 */
function regionUniverseSql({
  region,
  types,
}: {
  readonly region: string;
  readonly types?: readonly string[] | undefined;
}): string {
  const ofTypes = types === undefined ? "" : `AND list_contains(${literalList(types)}, v.type)`;
  const join = types === undefined ? "LEFT JOIN" : "JOIN";
  return `WITH by_day AS MATERIALIZED (
      SELECT symbol, min(trade_date) AS first FROM raw.bars_1d WHERE region = ${literal(region)} GROUP BY symbol),
    by_minute AS (
      SELECT symbol, min(trade_date) AS first FROM raw.bars_1m WHERE region = ${literal(region)} GROUP BY symbol)
    SELECT b.symbol, b.first AS from_date, v.to_date,
      (SELECT local_date(min(valid_from), region) FROM raw.instruments WHERE region = ${literal(region)} GROUP BY region) AS seen_from
    FROM (FROM by_day UNION ALL FROM by_minute ANTI JOIN by_day USING (symbol)) AS b
    ${join} (SELECT symbol, arg_max_null(to_date, from_date) AS to_date, arg_max(type, from_date) AS type
      FROM instrument_versions GROUP BY symbol) AS v ON v.symbol = b.symbol ${ofTypes}`;
}

/** The temporary tables of a dataset's axes. They exist as long as their session. */
export interface AxisTables {
  /** `symbol, from_date, to_date, seen_from`: when each symbol is in the universe. */
  readonly universe: TempTable;
  /** `day`: the trading days of the calendar. */
  readonly sessions: TempTable;
  /** `day, label, l`: every date, and the label that it belongs to. */
  readonly days: TempTable;
  /** `ts, trade_date, l`: every end of a bar, and its label; intraday only. */
  readonly times: TempTable;
  /** `symbol, region, s`: the symbols with trades in the window. */
  readonly symbols: TempTable;
}

export interface Axes {
  readonly tables: AxisTables;
  readonly labels: Labels;
  readonly symbols: readonly PanelSymbol[];
  /** Names that were followed; undefined where there were none. */
  readonly names: FollowedNames | undefined;
  /** Symbols of the universe without trades in the window. */
  readonly absent: readonly string[];
  /** Whether it is on record when symbols were in the universe: so it is of a universe of the lake, and of a query with dates. */
  readonly isDated: boolean;
  /** First date on which the universe was seen (days since 1970-01-01); before it, its first members are assumed. */
  readonly seenFrom: number | undefined;
  readonly calendar: readonly Region[];
  /** Regions without known trading days: the days on which anything traded are used instead. */
  readonly guessed: readonly Region[];
  /** Dates that count as sessions although they lie outside of a region's known trading days. */
  readonly assumed: readonly AssumedSessions[];
}

const FAR = "DATE '9999-12-31'";

/**
 * @throws {UsageError} where the universe or the window is empty, and {@link QueryError} for a universe's bad query.
 */
export async function createAxes(session: Session, spec: DatasetSpec): Promise<Axes> {
  const table = `raw.bars_${basePeriod(spec.period)}`;
  const tables = tablesIn(session);
  const { universe } = tables;
  await universe.fill(await universeSql(session, spec));
  const followed = await followNames(session, spec, universe);
  const [has] = await session.json<{ members: boolean; dates: boolean; seen: number | null }>(
    `SELECT count(*) > 0 AS members, coalesce(bool_or(from_date IS NOT NULL OR to_date IS NOT NULL), false) AS dates,
       CAST(min(seen_from) - DATE '1970-01-01' AS INTEGER) AS seen FROM ${universe.name}`,
  );
  if (has?.members !== true)
    throw new UsageError(`dataset ${spec.name}: universe: ${universeText(spec)} has no members in the lake`, {
      hint: `${universeHint(spec)}; with \`knownAt\` before its first snapshot, \`assumeReference\` takes that as known`,
    });
  // Who was a member only before the window, or will be one only after it, is not of the dataset.
  const after = spec.to === undefined ? FAR : `DATE ${literal(spec.to)}`;
  await session.run(
    `DELETE FROM ${universe.name} WHERE to_date <= DATE ${literal(spec.from)} OR from_date >= ${after}`,
  );
  const [left] = await session.json<{ members: boolean }>(
    `SELECT count(*) > 0 AS members FROM ${universe.name}`,
  );
  if (left?.members !== true)
    throw new UsageError(
      `dataset ${spec.name}: universe: ${universeText(spec)} has no members between from and to`,
      { hint: universeHint(spec) },
    );
  const { calendar, guessed, assumed } = await createDays(session, spec, table, tables);
  const labels = isIntraday(spec)
    ? await createTimes(session, spec, tables)
    : await readDays(session, tables);
  if (labels.count === 0) {
    throw new UsageError(`dataset ${spec.name}: no ${spec.period} label lies between from and to`, {
      hint: `barlake status shows what the lake has of ${calendar.join(", ")}`,
    });
  }
  await fillSymbols(session, table, tables);
  const symbols = await readSymbols(session, tables);
  const absent = await session.json<{ symbol: string }>(
    `SELECT DISTINCT symbol FROM ${universe.name} ANTI JOIN ${tables.symbols.name} USING (symbol) ORDER BY symbol`,
  );
  if (symbols.length === 0) {
    const names = absent.slice(0, 3).map(({ symbol }) => symbol);
    throw new UsageError(
      `dataset ${spec.name}: nothing of its universe traded in the window (${names.join(", ")})`,
      {
        hint: universeHint(spec),
      },
    );
  }
  return {
    tables,
    labels,
    symbols,
    names: followed,
    absent: absent.map(({ symbol }) => symbol),
    isDated: typeof spec.universe === "string" || (isQuery(spec) && has.dates),
    seenFrom: has.seen ?? undefined,
    calendar,
    guessed,
    assumed,
  };
}

function isQuery({ universe }: DatasetSpec): boolean {
  return typeof universe === "object" && "sql" in universe;
}

function tablesIn(session: Session): AxisTables {
  const [universe, sessions, days, times, symbols] = [
    new TempTable(session, "panel_universe"),
    new TempTable(session, "panel_sessions"),
    new TempTable(session, "panel_days"),
    new TempTable(session, "panel_times"),
    new TempTable(session, "panel_symbols"),
  ];
  return { universe, sessions, days, times, symbols };
}

function universeText({ universe }: DatasetSpec): string {
  if (typeof universe === "string") return JSON.stringify(universe);
  if (Array.isArray(universe)) return "the list";
  if ("sql" in universe) return "its query";
  const types = universe.types === undefined ? "" : `, types ${universe.types.join(", ")}`;
  return `region ${universe.region}${types}`;
}

function universeHint({ universe }: DatasetSpec): string {
  return typeof universe === "string"
    ? `barlake sql "from universes" lists those of the lake`
    : "barlake status shows what the lake has";
}

/** Fills the table of days. Periods longer than a day have a label only if they are complete. */
async function createDays(
  session: Session,
  spec: DatasetSpec,
  table: string,
  { universe, sessions, days }: AxisTables,
): Promise<Pick<Axes, "calendar" | "guessed" | "assumed">> {
  const regions = await session.json<{ region: Region }>(
    `SELECT DISTINCT ${regionSql("symbol")} AS region FROM ${universe.name}
     INTERSECT SELECT DISTINCT region FROM ${table} ORDER BY region`,
  );
  const calendar = spec.calendar === undefined ? regions.map(({ region }) => region) : [spec.calendar];
  if (calendar.length === 0)
    throw new UsageError(`dataset ${spec.name}: the lake has no ${spec.period} bar of its universe`, {
      hint: "barlake status shows what the lake has",
    });
  const known = await session.json<{ region: Region }>("SELECT DISTINCT region FROM raw.trading_days");
  const guessed = calendar.filter((region) => !known.some((one) => one.region === region));
  await sessions.fill(`SELECT DISTINCT trade_date AS day FROM (
      SELECT trade_date FROM raw.trading_days WHERE list_contains(${literalList(calendar)}, region)
      UNION ALL
      SELECT DISTINCT trade_date FROM ${table}
      WHERE list_contains(${literalList(guessed)}::VARCHAR[], region) AND volume > 0 AND is_final)`);
  const after = spec.to === undefined ? FAR : `DATE ${literal(spec.to)}`;
  const partly = calendar.filter((region) => !guessed.includes(region));
  const window = `trade_date >= DATE ${literal(spec.from)} AND trade_date < ${after}`;
  const assumed = await assumeSessions(session, sessions, { regions: partly, bars: table, window });
  const ofPeriod = BUCKETS[spec.period];
  const span = ofPeriod.kind === "calendar" ? ofPeriod.unit : undefined;
  const bucket = span === undefined ? "day" : calendarBucketSql(span, "day");
  // A bucket is complete if a session after it is known, or sessions are known up to its last weekday.
  const whole =
    span === undefined
      ? "true"
      : `bucket < (SELECT max(${bucket}) FROM ${sessions.name}) OR last_weekday <= (SELECT max(day) FROM ${sessions.name})`;
  await days.fill(`WITH buckets AS (
      SELECT bucket, max(day) AS label, min(day) AS first,
        ${span === undefined ? "bucket" : `(bucket + INTERVAL 1 ${span})::DATE - CASE isodow(bucket + INTERVAL 1 ${span}) WHEN 1 THEN 3 WHEN 7 THEN 2 ELSE 1 END`} AS last_weekday
      FROM (SELECT day, ${bucket} AS bucket FROM ${sessions.name}) GROUP BY bucket),
    labelled AS (
      SELECT bucket, label, CAST(row_number() OVER (ORDER BY label) - 1 AS INTEGER) AS l FROM buckets
      WHERE first >= DATE ${literal(spec.from)} AND label < ${after} AND (${whole}))
    SELECT day, label, l FROM (SELECT day, ${bucket} AS bucket FROM ${sessions.name}) JOIN labelled USING (bucket)`);
  return { calendar, guessed, assumed };
}

async function readDays(session: Session, { days }: AxisTables): Promise<Labels> {
  const rows = await session.json<{ day: number }>(
    `SELECT DISTINCT CAST(label - DATE '1970-01-01' AS INTEGER) AS day FROM ${days.name} ORDER BY day`,
  );
  return { count: rows.length, days: Int32Array.from(rows, ({ day }) => day), times: undefined };
}

/** Fills the table of times: every end of a bar in the calendar's regions, and its label. */
async function createTimes(
  session: Session,
  spec: DatasetSpec,
  { universe, days, times }: AxisTables,
): Promise<Labels> {
  await times.fill(`SELECT ts, trade_date, CAST(row_number() OVER (ORDER BY ts) - 1 AS INTEGER) AS l
    FROM (SELECT "timestamp" AS ts, min(trade_date) AS trade_date FROM bars(${literal(spec.period)})
      SEMI JOIN ${days.name} ON trade_date = day SEMI JOIN ${universe.name} USING (symbol) WHERE is_final GROUP BY ts)`);
  const rows = await session.json<{ day: number; ms: number }>(
    `SELECT CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS day, CAST(epoch_ms(ts) AS DOUBLE) AS ms FROM ${times.name} ORDER BY l`,
  );
  return {
    count: rows.length,
    days: Int32Array.from(rows, ({ day }) => day),
    times: Float64Array.from(rows, ({ ms }) => ms),
  };
}

/** Days before the last label in which most symbols have traded. */
const RECENT_DAYS = 31;

/**
 * Fills the table of symbols: those of the universe with trades in the window. Nearly all have traded recently, so the
 * bars of all days are read only for the others.
 */
async function fillSymbols(
  session: Session,
  table: string,
  { universe, days, symbols }: AxisTables,
): Promise<void> {
  const [bounds] = await session.json<Record<"low" | "high" | "first" | "recent" | "last", string>>(
    `SELECT min(symbol) AS low, max(symbol) AS high, CAST(any_value(first) AS VARCHAR) AS first,
       CAST(any_value(greatest(first, last - ${RECENT_DAYS})) AS VARCHAR) AS recent, CAST(any_value(last) AS VARCHAR) AS last
     FROM ${universe.name}, (SELECT min(day) AS first, max(day) AS last FROM ${days.name})`,
  );
  const tradedSql = (since: string, among: TempTable): string =>
    `SELECT symbol, any_value(region) AS region FROM ${table} SEMI JOIN ${among.name} USING (symbol)
     WHERE symbol >= ${literal(bounds?.low ?? "")} AND symbol <= ${literal(bounds?.high ?? "")}
       AND trade_date >= ${literal(since)} AND trade_date <= ${literal(bounds?.last ?? "")}
       AND volume > 0 AND is_final GROUP BY symbol`;
  await using recent = new TempTable(session, "panel_recent");
  await using others = new TempTable(session, "panel_others");
  await recent.fill(tradedSql(bounds?.recent ?? "", universe));
  await others.fill(`SELECT DISTINCT symbol FROM ${universe.name} ANTI JOIN ${recent.name} USING (symbol)`);
  await symbols.fill(`SELECT symbol, region, CAST(row_number() OVER (ORDER BY symbol) - 1 AS INTEGER) AS s
    FROM (FROM ${recent.name} UNION ALL (${tradedSql(bounds?.first ?? "", others)}))`);
}

async function readSymbols(session: Session, { universe, symbols }: AxisTables): Promise<PanelSymbol[]> {
  const rows = await session.json<{ symbol: string; region: Region; starts: number[]; ends: number[] }>(
    `SELECT symbol, any_value(p.region) AS region,
       list(CAST(coalesce(from_date, DATE '0001-01-01') - DATE '1970-01-01' AS INTEGER) ORDER BY from_date NULLS FIRST) AS starts,
       list(CAST(coalesce(to_date, ${FAR}) - DATE '1970-01-01' AS INTEGER) ORDER BY from_date NULLS FIRST) AS ends
     FROM ${symbols.name} p JOIN ${universe.name} u USING (symbol) GROUP BY symbol ORDER BY symbol`,
  );
  // Symbols are used as file names.
  const odd = rows.find(({ symbol }) => !isSymbol(symbol));
  if (odd !== undefined)
    throw new LakeError(`symbol ${JSON.stringify(odd.symbol)} is not of the form ${SYMBOL_GRAMMAR}`, {
      hint: "another program wrote it into the lake: leave it out of the universe",
    });
  return rows.map(({ symbol, region, starts, ends }) => ({
    symbol,
    region,
    memberRanges: starts.map((start, i) => ({ start, end: ends[i] as number })),
  }));
}

interface FollowedNames {
  /** Members under another name than that of the dataset, and the name. */
  readonly renamed: readonly (readonly [member: string, name: string])[];
  /** Members whose code was given to another company, and which have no other name: they are left out. */
  readonly nameless: readonly string[];
}

/**
 * Gives each instrument of a universe the last name that it has in the dataset's time, and the session bars, absences,
 * factors and actions under these names: one history for each, by the rules of the views. A member under an earlier
 * name is the instrument that had it on the last day of the membership. The session must not be used for anything else.
 * @returns undefined where no member was renamed, or has a code that was given to another company: nothing is changed.
 */
async function followNames(
  session: Session,
  { to }: DatasetSpec,
  universe: TempTable,
): Promise<FollowedNames | undefined> {
  const [any] = await session.json("SELECT 1 FROM raw.symbol_changes LIMIT 1");
  if (any === undefined) return undefined;
  const asOf = to === undefined ? "CAST(NULL AS DATE)" : `DATE ${literal(to)} - 1`;
  await using names = new TempTable(session, "panel_names");
  await names.fill(`SELECT name, symbol, start_date, end_date, preference FROM symbol_names(as_of := ${asOf})
    WHERE name IN (SELECT name FROM symbol_names(as_of := ${asOf}) WHERE preference = 1
      GROUP BY name HAVING arg_max(symbol, start_date) = name)`);
  await using members = new TempTable(session, "panel_members");
  await members.fill(`SELECT u.*, n.name, u.symbol IN (SELECT name FROM symbol_names(as_of := ${asOf})) AS is_changed
    FROM (SELECT *, row_number() OVER () AS nth FROM ${universe.name}) AS u
    LEFT JOIN ${names.name} AS n ON n.symbol = u.symbol AND n.preference = 1
      AND n.start_date < least(coalesce(u.to_date, DATE '9999-12-31'), coalesce(${asOf} + 1, DATE '9999-12-31'))
    QUALIFY row_number() OVER (PARTITION BY nth ORDER BY n.start_date DESC) = 1`);
  const changed = await session.json<{ symbol: string; name: string | null }>(
    `SELECT DISTINCT symbol, name FROM ${members.name} WHERE is_changed ORDER BY ALL`,
  );
  if (changed.length === 0) return undefined;
  await universe.fill(`SELECT DISTINCT coalesce(name, symbol) AS symbol, from_date, to_date, seen_from
    FROM ${members.name} WHERE name IS NOT NULL OR NOT is_changed`);
  const own = [...new Set(changed.flatMap(({ name }) => name ?? []))];
  const nameless = changed.flatMap(({ symbol, name }) => (name === null ? symbol : []));
  const list = (symbols: readonly string[]): string => symbols.map(literal).join(", ");
  const [row] = await session.json<{ symbols: string[] }>(
    `SELECT list(DISTINCT symbol) AS symbols FROM ${names.name} WHERE list_contains(${literalList(own)}::VARCHAR[], name)`,
  );
  const stored = [...new Set([...own, ...nameless, ...(row?.symbols ?? [])])];
  const namedRows = (of: string): string =>
    `named_rows('${of}', ${literalList(own)}::VARCHAR[], as_of := ${asOf})`;
  // Absences are those of the symbol whose bars count in a stretch.
  const stretches = await session.json<{ name: string; symbol: string; start: string; end: string }>(
    `SELECT n.name, n.symbol, n.start_date::VARCHAR AS start, n.end_date::VARCHAR AS "end" FROM ${names.name} AS n
     LEFT JOIN (SELECT DISTINCT symbol AS name, stored_symbol, start_date
       FROM ${namedRows("raw.bars_1d")}) AS u ON u.name = n.name AND u.stored_symbol = n.symbol AND u.start_date = n.start_date
     WHERE list_contains(${literalList(own)}::VARCHAR[], n.name)
     QUALIFY row_number() OVER (PARTITION BY n.name, n.start_date ORDER BY u.name IS NULL, preference) = 1`,
  );
  const rows = stretches.map(
    ({ name, symbol, start, end }) =>
      `(${literal(name)}, ${literal(symbol)}, DATE ${literal(start)}, DATE ${literal(end)})`,
  );
  const values =
    rows.length === 0
      ? "(SELECT '' AS name, '' AS symbol, DATE '9999-12-31' AS start_date, DATE '9999-12-31' AS end_date WHERE false)"
      : `(VALUES ${rows.join(", ")})`;
  const bars = (of: string): string =>
    `(SELECT * EXCLUDE (stored_symbol, start_date) FROM ${namedRows(`raw.renamed_${of}`)} ORDER BY symbol, "timestamp")`;
  // What sources say of the symbol of the bars on both sides of an ex-date: the newer one, where they differ.
  const actions = (of: string): string =>
    `SELECT r.* REPLACE (b.name AS symbol) FROM raw.renamed_${of} AS r JOIN (
       SELECT *, unnest(list_distinct([stored_symbol, last_symbol])) AS said_of FROM (
         SELECT symbol AS name, stored_symbol, trade_date, lag(stored_symbol) OVER days AS last_symbol, lag(trade_date) OVER days AS last_date
         FROM ${namedRows("raw.renamed_bars_1d")} WINDOW days AS (PARTITION BY symbol ORDER BY trade_date))) AS b
     ON b.said_of = r.symbol AND r.ex_date > coalesce(b.last_date, DATE '0001-01-01') AND r.ex_date <= b.trade_date
     QUALIFY rank() OVER (PARTITION BY b.name, r.ex_date ORDER BY b.said_of <> b.stored_symbol) = 1`;
  const parts: Readonly<Record<string, (of: string) => string>> = {
    [BARS_1D.name]: bars,
    [BARS_1M.name]: bars,
    [ABSENCES_1D.name]: (of) =>
      `SELECT r.* REPLACE (n.name AS symbol, greatest(first_date, n.start_date) AS first_date, least(last_date, n.end_date - 1) AS last_date)
       FROM raw.renamed_${of} AS r JOIN ${values} AS n(name, symbol, start_date, end_date)
       ON n.symbol = r.symbol AND r.last_date >= n.start_date AND r.first_date < n.end_date`,
    [EX_FACTORS.name]: actions,
    [CORPORATE_ACTIONS.name]: actions,
  };
  for (const [table, partOf] of Object.entries(parts)) {
    await session.run(`ALTER VIEW raw.${table} RENAME TO stored_${table}`);
    await session.run(
      `CREATE VIEW raw.renamed_${table} AS FROM raw.stored_${table} WHERE symbol IN (${list(stored)})`,
    );
    // The rows of others come first, in the order of the files.
    await session.run(`CREATE VIEW raw.${table} AS
      SELECT * FROM raw.stored_${table} WHERE symbol NOT IN (${list(stored)})
      UNION ALL BY NAME ${partOf(table)}`);
  }
  return {
    renamed: changed.flatMap(({ symbol, name }) =>
      name === null || name === symbol ? [] : [[symbol, name] as const],
    ),
    nameless,
  };
}
