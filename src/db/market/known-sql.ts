import { type KnownAt, type KnownDates, knownDates } from "../../market/known-at.js";
import { REGION_NAMES } from "../../market/regions.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { ident, literal } from "../quote.js";
import { BAR_AGGREGATES, exactSharesSql, int64Sql, statedPriceSql } from "./bar-sql.js";
import { localMidnightSql, perRegion } from "./region-sql.js";

/** A time at which something was known, and what counts as known before a lake first saw it. */
export interface Known {
  readonly knownAt: KnownAt;
  /**
   * Whether the first version of reference data counts as known before the lake first saw it: of an exchange or a universe
   * of which it had seen nothing by then, and without instruments that were listed later. @default false
   */
  readonly assumesReference?: boolean | undefined;
}

/** Minutes of days whose bars are not final, from which the bars of these days are made. */
interface RunningMinutes {
  /** A SELECT of minutes; it may have others, too. */
  readonly minutes: string;
  /** A SELECT with a column `symbol`: only bars of these symbols are made. @default all */
  readonly symbols?: string | undefined;
}

/**
 * A SELECT of the rows of a table that were known at a time, in the columns of the table. See {@link KnownRule}.
 *
 * What the lake first saw later, but was public before, has the time at which it became public as `first_seen_at`: of a
 * statement noon of its announcement, else the time itself.
 *
 * @param relation a SELECT of all rows. @param running for daily bars.
 */
export function knownRowsSql(
  table: TableSchema,
  relation: string,
  known: Known,
  running?: RunningMinutes,
): string {
  const at = datesOf(known.knownAt);
  const rule = table.known;
  const rows = `SELECT * FROM (${relation})`;
  const clamped = `least(first_seen_at, ${at.until}) AS first_seen_at`;
  switch (rule.by) {
    case "days": {
      const final = `${rows} WHERE ${at.upTo("trade_date", "final")}`;
      if (running === undefined) return final;
      return `${final} UNION ALL BY NAME ${runningDaysSql(relation, running, at)}`;
    }
    case "minutes":
      return `${rows} WHERE ${at.isDate ? at.upTo("trade_date", "final") : at.seen('"timestamp"')}`;
    case "sessions": {
      const hasSeen = table.columns.some(({ name }) => name === "first_seen_at");
      return `SELECT *${hasSeen ? ` REPLACE (${clamped})` : ""} FROM (${relation}) WHERE ${at.upTo(ident(rule.date), "opened")}`;
    }
    case "stretches":
      return `SELECT * REPLACE (least(${ident(rule.last)}, ${at.opened}) AS ${ident(rule.last)})
        FROM (${relation}) WHERE ${at.upTo(ident(rule.first), "opened")}`;
    case "statements":
      return publicRowsSql(relation, at, {
        event: ["symbol", "period_end", "announce_date"],
        isPublic: `announce_date <= ${at.ended}`,
        since: noonSql("announce_date"),
      });
    case "actions":
      return publicRowsSql(relation, at, {
        event: ["symbol", "ex_date", "kind", "source"],
        isPublic: `(announce_date <= ${at.ended} OR ex_date <= ${at.opened})`,
        since: at.until,
      });
    case "changes": {
      const until = ident(rule.until);
      return `SELECT * REPLACE (CASE WHEN ${until} <= ${at.today} THEN ${until} END AS ${until}, ${clamped})
        FROM (${relation}) WHERE ${at.upTo(ident(rule.from), "today")}`;
    }
    case "snapshots": {
      const first = `min(valid_from) OVER (PARTITION BY ${ident(rule.within)})`;
      const own = `min(valid_from) OVER (PARTITION BY ${ident(rule.of)})`;
      const isListed = table === INSTRUMENTS ? ` AND coalesce(listing_date <= ${at.today}, true)` : "";
      const condition =
        known.assumesReference === true
          ? `QUALIFY ${at.seen("valid_from")} OR (${first} > ${at.until} AND valid_from = ${own}${isListed})`
          : `WHERE ${at.seen("valid_from")}`;
      return `SELECT * REPLACE (CASE WHEN ${at.seen("valid_to")} THEN valid_to END AS valid_to)
        FROM (${rows} ${condition})`;
    }
    case "log":
      return `${rows} WHERE ${ident(rule.at)} <= ${instantSql(Math.min(...at.all.map(({ until }) => until)))}`;
  }
}

/**
 * The versions that the lake had seen, and those of the others that are the first one of their event, where it was public.
 * These have `since` as the time at which they were seen.
 */
function publicRowsSql(
  relation: string,
  { seen, unseen }: DatesSql,
  {
    event,
    isPublic,
    since,
  }: { readonly event: readonly string[]; readonly isPublic: string; readonly since: string },
): string {
  const isSame = event.map((name) => `e.${name} IS NOT DISTINCT FROM u.${name}`).join(" AND ");
  return `SELECT * FROM (${relation}) WHERE ${seen("first_seen_at")}
    UNION ALL
    SELECT * REPLACE (${since} AS first_seen_at) FROM (
      SELECT * FROM (${relation}) AS u WHERE ${unseen("first_seen_at")} AND ${isPublic}
        AND NOT EXISTS (SELECT 1 FROM (${relation}) AS e WHERE ${isSame} AND e.first_seen_at < u.first_seen_at))`;
}

/**
 * The bars of days that are not final: the ended minutes of each symbol, aggregated by the usual rules. The previous
 * close, which the exchange states before the day begins, is that of the day's landed bar where the minutes lack it.
 * Volumes are in shares.
 */
function runningDaysSql(relation: string, { minutes, symbols }: RunningMinutes, at: DatesSql): string {
  const shares = int64Sql(`sum(${exactSharesSql("volume", "lot")})`);
  const aggregates = Object.entries(BAR_AGGREGATES).map(([name, sql]) => `${sql} AS ${name}`);
  const stated = ["open", "high", "low"].map((name) => `${statedPriceSql(name, "close")} AS ${name}`);
  const midnight = `make_timestamptz(${localMidnightSql("trade_date", "region")} * 1000)`;
  const isAsked = symbols === undefined ? "" : ` AND symbol IN (${symbols})`;
  const isRunning = at.afterFinal("trade_date");
  return `(
    SELECT f.* REPLACE (coalesce(f.prev_close, d.prev_close) AS prev_close)
    FROM (
      SELECT symbol, ${midnight} AS "timestamp", trade_date, region, CAST(year(trade_date) AS INTEGER) AS "year",
        ${aggregates.join(", ")}, ${shares} AS volume, CAST(1 AS INTEGER) AS lot, false AS is_final
      FROM (
        SELECT * REPLACE (${stated.join(", ")}) FROM (${minutes})
        WHERE ${isRunning} AND "timestamp" <= ${at.until}${isAsked})
      GROUP BY symbol, trade_date, region) AS f
    LEFT JOIN (
      SELECT symbol, "timestamp", prev_close FROM (${relation}) WHERE ${isRunning}${isAsked}) AS d
      USING (symbol, "timestamp"))`;
}

/** Times and dates of the regions in SQL, of the row's column `region`; where all have the same, a literal. */
interface DatesSql extends Readonly<Record<"until" | "today" | "ended" | "opened" | "final", string>> {
  readonly isDate: boolean;
  readonly all: readonly KnownDates[];
  /** Whether a date is not after one of these. The latest date of all regions is a condition by which files are skipped. */
  upTo(column: string, name: "today" | "opened" | "final"): string;
  /** Whether an instant is at or before, or after, that of the region; with a bound by which files are skipped. */
  readonly seen: (column: string) => string;
  readonly unseen: (column: string) => string;
  /** Whether a date is after the newest final one. */
  afterFinal(column: string): string;
}

function datesOf(knownAt: KnownAt): DatesSql {
  const dates = new Map(REGION_NAMES.map((region) => [region, knownDates(knownAt, region)]));
  const all = [...dates.values()];
  const sqlOf = (literalOf: (own: KnownDates) => string): string => {
    const [first, ...others] = new Set(all.map(literalOf));
    if (first !== undefined && others.length === 0) return first;
    return perRegion("region", ({ region }) => literalOf(dates.get(region) as KnownDates));
  };
  const compare = (column: string, sign: "<=" | ">", name: "today" | "opened" | "final"): string => {
    const own = dateSql(name);
    const ordered = all.map((one) => one[name]).sort();
    const bound = `${column} ${sign} DATE ${literal(ordered.at(sign === ">" ? 0 : -1) ?? "")}`;
    return own.startsWith("DATE") ? bound : `${bound} AND ${column} ${sign} ${own}`;
  };
  const dateSql = (name: "today" | "ended" | "opened" | "final"): string =>
    sqlOf((own) => `DATE ${literal(own[name])}`);
  const until = sqlOf((own) => instantSql(own.until));
  const instants = all.map((own) => own.until);
  const isOne = new Set(instants).size === 1;
  const compareInstant = (column: string, sign: "<=" | ">"): string => {
    const bound = `${column} ${sign} ${instantSql(sign === ">" ? Math.min(...instants) : Math.max(...instants))}`;
    return isOne ? bound : `${bound} AND ${column} ${sign} ${until}`;
  };
  return {
    seen: (column) => compareInstant(column, "<="),
    unseen: (column) => compareInstant(column, ">"),
    isDate: typeof knownAt !== "number",
    all,
    until,
    today: dateSql("today"),
    ended: dateSql("ended"),
    opened: dateSql("opened"),
    final: dateSql("final"),
    upTo: (column, name) => compare(column, "<=", name),
    afterFinal: (column) => compare(column, ">", "final"),
  };
}

function noonSql(date: string): string {
  return perRegion("region", ({ zone }) => `timezone(${literal(zone)}, ${date} + INTERVAL 12 HOUR)`);
}

function instantSql(ms: number): string {
  return `make_timestamptz(${BigInt(ms) * 1000n})`;
}
