import type { IssueRule } from "../../core/issue.js";
import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import { exactSharesSql } from "../../db/market/bar-sql.js";
import {
  hasOwnSessionsSql,
  perRegion,
  regionSql,
  tradeDateSql,
  unknownExchangeReasonSql,
  unknownSessionsSql,
} from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import type { Region } from "../../market/regions.js";
import { possibleEnds } from "../../market/sessions.js";
import type { RejectedSegment } from "../../plan/bar-partitions.js";
import { BAR_RULES, type BarRule } from "../../plan/bar-rules.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import { DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import { landAbsentDays } from "./absent-days.js";
import { clearValues, hasUnstatedSql } from "./clear-values.js";
import type { Rejects } from "./rejects.js";
import { stagedColumns } from "./staged-rows.js";
import { type LandOptions, type LandReport, upsert } from "./upsert.js";

/** A rule in SQL: its name, whether a bar breaks it, and why the bar is rejected. */
type RuleSql = readonly [rule: IssueRule, breaks: string, reason: string];

/** SQL of a reason in which `{name}` stands for the value of a column. */
function reasonSql(reason: string): string {
  const parts = reason.split(/\{(\w+)\}/).map((part, n) => (n % 2 === 1 ? ident(part) : literal(part)));
  return parts.filter((part) => part !== "''").join(" || ");
}

function breaksSql({ column, breaks }: BarRule): string {
  const value = ident(column);
  switch (breaks) {
    case "null":
      return `${value} IS NULL`;
    case "not_finite":
      return `NOT isfinite(${value})`;
    case "negative":
      return `${value} < 0`;
    case "below_low":
      return `${value} < low`;
    case "no_trade":
      return `${value} = 0 AND volume = 0 AND NOT coalesce(prev_close > 0 AND isfinite(prev_close), false)`;
  }
}

export interface BarRules {
  /** Bars after this instant are in the future (epoch ms). */
  readonly now: number;
  readonly table: TableSchema;
  /** Whether a bar may lack an amount. */
  readonly mayLackAmount?: boolean;
}

function rulesOf({ now, table, mayLackAmount = false }: BarRules): readonly RuleSql[] {
  const ends = possibleEnds(now, isMinutes(table));
  const end = perRegion("region", ({ region }) => `make_timestamptz(${ends[region] * 1000}::BIGINT)`);
  const ofValues = mayLackAmount ? BAR_RULES.filter(({ column }) => column !== "amount") : BAR_RULES;
  const ofSessions: RuleSql = ["unknown_sessions", hasOwnSessionsSql("symbol"), unknownSessionsSql("symbol")];
  return [
    ["unknown_exchange", "region IS NULL", unknownExchangeReasonSql("symbol")],
    ["out_of_range", `timestamp >= ${end}`, "'its time is in the future'"],
    ...ofValues.map((one): RuleSql => [one.rule, breaksSql(one), reasonSql(one.reason)]),
    ...(isMinutes(table) ? [ofSessions] : []),
  ];
}

/** Whether a table has minutes: it is divided by months. */
export const isMinutes = ({ partition }: TableSchema): boolean => partition.includes("month");

/** SQL of the name of the first rule that a bar breaks, or null. It uses the columns of a bar, and its region. */
export function brokenRuleSql(of: BarRules): string {
  // Rules of the same name that follow one another are one condition, which is tested faster than several.
  const conditions: { readonly rule: IssueRule; readonly breaks: string[] }[] = [];
  for (const [rule, breaks] of rulesOf(of)) {
    const last = conditions.at(-1);
    if (last?.rule === rule) last.breaks.push(breaks);
    else conditions.push({ rule, breaks: [breaks] });
  }
  return `CASE ${conditions.map(({ rule, breaks }) => `WHEN ${breaks.join(" OR ")} THEN ${literal(rule)}`).join(" ")} END`;
}

/**
 * Adds bars that break a rule to the rejects.
 *
 * @param from a table expression: the columns of a bar, `region`, `rule` (from {@link brokenRuleSql}), `source`, `line`.
 */
export async function rejectBroken(rejects: Rejects, of: BarRules, from: string): Promise<void> {
  const reason = rulesOf(of)
    .map(([, breaks, text]) => `WHEN ${breaks} THEN ${text}`)
    .join(" ");
  await rejects.add(of.table.name, rejectSql("rule", `CASE ${reason} END`, from));
}

/**
 * Adds to the rejects the bars that have the same key as an earlier bar of the same delivery.
 *
 * @param from a table expression: the columns of a bar, `source`, `line`.
 * @param reason SQL of the reason.
 */
export async function rejectRepeats(
  rejects: Rejects,
  table: TableSchema,
  from: string,
  reason = "symbol || ' at ' || timestamp || ' is repeated in this delivery; the first bar was used'",
): Promise<void> {
  await rejects.add(table.name, rejectSql("'duplicate_key'", reason, from));
}

function rejectSql(rule: string, reason: string, from: string): string {
  const members = KLINE_COLUMNS.map((c) => `${ident(c.name)} := ${ident(c.name)}`).join(", ");
  return `SELECT source, line, symbol, CAST(timestamp AS VARCHAR) AS timestamp, ${rule} AS rule, ${reason} AS reason,
    to_json(struct_pack(${members})) AS row FROM ${from}`;
}

export interface LandBarsOptions extends LandOptions {
  /** By region: bars labelled before this instant (epoch ms) are final. */
  readonly finalEnd: Readonly<Record<Region, number>>;
  /** Bars after this instant are in the future (epoch ms). @default now */
  readonly marketNow?: number | undefined;
  readonly rejects: Rejects;
  /** Called with the bars of decoded columns that break a rule. */
  readonly onRejected?: (rejected: readonly RejectedSegment[]) => void;
  /** Called once staged bars have been copied: what they were made of is no longer needed. */
  readonly onCopied?: () => Promise<void>;
}

/** DDL of the columns of staged bars; `source` and `line` say where each bar came from. */
const STAGED_BARS = [
  "symbol VARCHAR",
  "timestamp TIMESTAMPTZ",
  ...KLINE_COLUMNS.map((c) => `${c.name} ${c.type === "int64" ? "BIGINT" : "DOUBLE"}`),
  "lot INTEGER",
  "source VARCHAR",
  "line BIGINT",
].join(", ");

export async function stageBars(session: Session, name: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${ident(name)} (${STAGED_BARS})`);
}

const QUARTER_US = 15 * MINUTE_MS * 1000;
const QUARTER = `CAST(floor(epoch_us(timestamp) / ${QUARTER_US}) AS BIGINT)`;

/**
 * Lands staged bars: derives region, trade date and finality, adds bars that break a rule to the rejects, and merges
 * the rest. Where the merge keeps what a bar does not say, the later one of bars with the same key counts, column by
 * column; else the first.
 *
 * @param staged a table made by {@link stageBars}; it is dropped during the landing, so that the bars are not in memory
 *   twice. Or a view with the same columns, of which the optional ones may be missing, and `region`, `trade_date` (each date once a symbol, or whole minutes) and
 *   `ordinal`, ascending from the first bar to the last.
 * @throws {LakeError} as `upsert` does.
 */
export async function landBars(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandBarsOptions,
): Promise<LandReport> {
  const partition = isMinutes(table)
    ? "CAST(date_trunc('month', trade_date) AS DATE) AS month"
    : "CAST(year(trade_date) AS INTEGER) AS year";
  const finalEnd = perRegion(
    "region",
    ({ region }) => `make_timestamptz(${options.finalEnd[region] * 1000}::BIGINT)`,
  );
  const derived = `${partition}, timestamp < ${finalEnd} AS is_final`;
  if (options.merge === "keep") return landKept(session, lake, table, staged, derived, options);
  const rules = { now: options.marketNow ?? options.now, table };
  await using landing = new TempTable(session, "landing_bars");
  await using dates = new TempTable(session, "local_dates");
  await dates.fill(localDatesSql(staged));
  await landing.fill(`SELECT * EXCLUDE (quarter), ${derived}, ${brokenRuleSql(rules)} AS rule
    FROM (SELECT *, ${regionSql("symbol")} AS region, ${QUARTER} AS quarter FROM ${ident(staged)})
      LEFT JOIN ${dates.name} USING (region, quarter)`);
  await dates.drop();
  await session.run(`DROP TABLE ${ident(staged)}`);
  await clearValues(session, table, landing.name, options.rejects);
  await rejectLanding(session, lake, landing.name, options, rules);
  const equal = await removeRepeats(session, table, landing.name, options.rejects);
  const report = await upsert(session, lake, table, landing.name, options);
  return { ...report, unchanged: report.unchanged + equal };
}

/** Columns that a bar of a file may lack, although each bar of the lake has a value. */
const MAY_LACK = ["amount"];

/** Lands the bars of a view of which each says only some things. */
async function landKept(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  derived: string,
  options: LandBarsOptions,
): Promise<LandReport> {
  const rules = { now: options.marketNow ?? options.now, table, mayLackAmount: true };
  const given = await stagedColumns(session, staged);
  const missing = KLINE_COLUMNS.filter(({ name }) => !given.has(name));
  const nulls = missing.map(({ name, type }) => `CAST(NULL AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`);
  const query = `SELECT *, ${derived}, ${brokenRuleSql(rules)} AS rule FROM (SELECT *${nulls.map((one) => `, ${one}`).join("")} FROM ${ident(staged)})`;
  await using landing = new TempTable(session, "landing_bars");
  await landing.fill(query);
  await options.onCopied?.();
  const facts = await factsOf(session, table, landing.name);
  const repeated = await repeatedSymbols(session, table, landing.name, facts);
  if (facts.hasUnstated) await clearValues(session, table, landing.name, options.rejects, MAY_LACK);
  if (facts.broken > 0) await rejectLanding(session, lake, landing.name, options, rules);
  const equal =
    repeated.length > 0 ? await mergeRepeats(session, table, landing.name, repeated, options.rejects) : 0;
  const report = await upsert(session, lake, table, landing.name, options);
  return { ...report, unchanged: report.unchanged + equal };
}

/**
 * SQL of the trade date of each quarter of an hour in the bars. Converting a time to a zone is slow, and a zone's
 * offset changes only at quarters of an hour, so each quarter is converted once.
 */
function localDatesSql(staged: string): string {
  return `SELECT region, quarter, ${tradeDateSql(`make_timestamptz(quarter * ${QUARTER_US})`, "region")} AS trade_date
    FROM (SELECT DISTINCT ${regionSql("symbol")} AS region, ${QUARTER} AS quarter FROM ${ident(staged)})`;
}

async function rejectLanding(
  session: Session,
  lake: Lake,
  landing: string,
  options: LandBarsOptions,
  rules: BarRules,
): Promise<void> {
  const [found] = await session.json<{ broken: bigint }>(`SELECT count(rule) AS broken FROM ${landing}`);
  if (found?.broken === 0n) return;
  await rejectBroken(options.rejects, rules, `${landing} WHERE rule IS NOT NULL`);
  if (!isMinutes(rules.table)) {
    const idle = await session.json<{ symbol: string; first: number }>(
      `SELECT symbol, CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS first FROM ${landing} WHERE rule = 'no_trade' AND is_final`,
    );
    const days = idle.map((one) => ({ ...one, end: one.first + 1, hasNone: true }));
    await landAbsentDays(session, lake, days, options);
  }
  await session.run(`DELETE FROM ${landing} WHERE rule IS NOT NULL`);
}

/**
 * Of the bars with the same key in one delivery, uses the first. Of the others, those from the same source as the
 * first, and those with other values, go to the rejects; the rest are removed. `mergeRepeats` does the same for decoded
 * columns.
 *
 * @returns the number of bars that are equal to a used bar of another source.
 */
async function removeRepeats(
  session: Session,
  table: TableSchema,
  landing: string,
  rejects: Rejects,
): Promise<number> {
  await using keys = new TempTable(session, "repeated_keys");
  await keys.fill(`SELECT symbol, timestamp FROM ${landing} GROUP BY ALL HAVING count(*) > 1`);
  if ((await countRows(session, keys.name)) === 0) return 0;
  const values = `struct_pack(${KLINE_COLUMNS.map(({ name }) => `${ident(name)} := ${ident(name)}`).join(", ")})`;
  await using repeats = new TempTable(session, "repeats");
  await repeats.fill(`SELECT b.rowid AS id, b.*,
      source IS DISTINCT FROM first_value(source) OVER first
        AND ${values} IS NOT DISTINCT FROM first_value(${values}) OVER first AS is_equal
    FROM ${landing} b SEMI JOIN ${keys.name} USING (symbol, timestamp)
    WINDOW first AS (PARTITION BY symbol, timestamp ORDER BY source, line, b.rowid)
    QUALIFY row_number() OVER first > 1`);
  await rejectRepeats(rejects, table, `${repeats.name} WHERE NOT is_equal`);
  await session.run(`DELETE FROM ${landing} WHERE rowid IN (SELECT id FROM ${repeats.name})`);
  return await countRows(session, `${repeats.name} WHERE is_equal`);
}

/** Columns of a bar that a later bar of the same key replaces where it has a value. A volume comes with its unit. */
const MERGED = [...KLINE_COLUMNS.map(({ name }) => name), "lot"];

/**
 * Makes one bar of those with the same key: of each column, the last value counts. Bars that said otherwise are listed in
 * the rejects.
 *
 * @param symbols those with several bars at one time.
 * @returns the number of bars that said nothing else.
 */
async function mergeRepeats(
  session: Session,
  table: TableSchema,
  landing: string,
  symbols: readonly string[],
  rejects: Rejects,
): Promise<number> {
  const own = `(SELECT *, rowid AS id FROM ${landing} WHERE symbol IN (${symbols.map(literal).join(", ")}))`;
  const key =
    "PARTITION BY symbol, timestamp ORDER BY ordinal, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING";
  await using repeats = new TempTable(session, "repeats");
  await using merged = new TempTable(session, "merged_bars");
  const last = MERGED.map(
    (name) => `last_value(${ident(name)} IGNORE NULLS) OVER key AS ${ident(`last_${name}`)}`,
  );
  await repeats.fill(`SELECT *, row_number() OVER key_order = count(*) OVER key AS is_last, ${last.join(", ")},
      last_value(source) OVER key AS last_source, last_value(line) OVER key AS last_line
    FROM ${own} WINDOW key AS (${key}), key_order AS (PARTITION BY symbol, timestamp ORDER BY ordinal, id)
    QUALIFY count(*) OVER key > 1`);
  const differs = MERGED.map((name) => {
    const value = name === "volume" ? exactSharesSql("volume", "lot") : ident(name);
    const lastValue = name === "volume" ? exactSharesSql("last_volume", "last_lot") : ident(`last_${name}`);
    return name === "lot" ? "false" : `(${ident(name)} IS NOT NULL AND ${value} <> ${lastValue})`;
  }).join(" OR ");
  await rejectRepeats(
    rejects,
    table,
    `${repeats.name} WHERE NOT is_last AND (${differs})`,
    "symbol || ' at ' || timestamp || ' is repeated; ' || last_source || coalesce(' line ' || last_line, '') || ' was used'",
  );
  const replaced = MERGED.map((name) => `${ident(`last_${name}`)} AS ${ident(name)}`).join(", ");
  const extra = ["is_last", "last_source", "last_line", "id", ...MERGED.map((name) => `last_${name}`)];
  await merged.fill(
    `SELECT * EXCLUDE (${extra.map(ident).join(", ")}) REPLACE (${replaced}) FROM ${repeats.name} WHERE is_last`,
  );
  await session.run(`DELETE FROM ${landing} WHERE rowid IN (SELECT id FROM ${repeats.name})`);
  await session.run(`INSERT INTO ${landing} BY NAME FROM ${merged.name}`);
  return await countRows(session, `${repeats.name} WHERE NOT is_last AND NOT coalesce(${differs}, false)`);
}

/** Microseconds that are added to times, whole days, so that none is negative: division rounds towards 0. */
const FROM_ZERO = 1_000_000 * DAY_MS * 1000;

interface BarFacts {
  readonly broken: number;
  readonly hasUnstated: boolean;
  /** The first and the last trading date, in days from 1970-01-01. */
  readonly first: number;
  readonly last: number;
  /** Times that are not at whole minutes. */
  readonly odd: number;
}

async function factsOf(session: Session, table: TableSchema, bars: string): Promise<BarFacts> {
  const odd = isMinutes(table) ? `count(*) FILTER (epoch_us(timestamp) % ${MINUTE_MS * 1000} <> 0)` : "0";
  const [found] = await session.json<{
    broken: number;
    unstated: boolean;
    first: number | null;
    last: number | null;
    odd: number;
  }>(
    `SELECT count(rule)::DOUBLE AS broken, ${hasUnstatedSql(MAY_LACK)} AS unstated, (min(trade_date) - DATE '1970-01-01')::DOUBLE AS first,
       (max(trade_date) - DATE '1970-01-01')::DOUBLE AS last, ${odd}::DOUBLE AS odd FROM ${bars}`,
  );
  const { broken = 0, unstated: hasUnstated = false, odd: oddTimes = 0 } = found ?? {};
  const [first, last] = [found?.first ?? 0, found?.last ?? 0];
  return { broken, hasUnstated, first, last, odd: oddTimes };
}

/**
 * Symbols with more than one bar at a time. A set of bits for each symbol counts its different days, or for each of its days
 * the minutes: that takes a sixth of the time, and little of the memory, of a group for each key.
 */
async function repeatedSymbols(
  session: Session,
  table: TableSchema,
  bars: string,
  { first, last, odd }: BarFacts,
): Promise<string[]> {
  const isMinute = isMinutes(table);
  const time = `(epoch_us(timestamp) + ${FROM_ZERO})`;
  const minutes = `${time} % ${DAY_MS * 1000} // ${MINUTE_MS * 1000}`;
  const position = isMinute ? minutes : `(trade_date - DATE '1970-01-01') - ${first}`;
  const bits = isMinute ? DAY_MS / MINUTE_MS : last - first;
  const different =
    odd > 0
      ? "count(DISTINCT timestamp)"
      : `bit_count(bitstring_agg((${position})::INTEGER, 0, ${bits}::INTEGER))`;
  const rows = await session.json<{ symbol: string }>(
    `SELECT DISTINCT symbol FROM (
       SELECT symbol FROM ${bars} GROUP BY symbol${isMinute ? `, ${time} // ${DAY_MS * 1000}` : ""} HAVING count(*) <> ${different})`,
  );
  return rows.map(({ symbol }) => symbol);
}
