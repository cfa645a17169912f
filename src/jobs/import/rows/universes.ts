import { localMidnightSql } from "../../../db/market/region-sql.js";
import { literal } from "../../../db/quote.js";
import { overlapsSql } from "../../../lake/land/land-member-ranges.js";
import { dateTests, type ObjectFields, type ObjectRows, SYMBOL_TESTS } from "./object-rows.js";

export const UNIVERSE_FIELDS: ObjectFields = {
  texts: ["id", "name", "category", "region", "description", "symbols", "source"],
  dates: ["from_date", "to_date"],
  numbers: [],
};

/** SQL of the texts of members: each of a list, or of a text with separators, or the symbol of the row. */
export function memberTextsSql(): string {
  const list = `list_filter(string_split_regex(regexp_replace(symbols, '[\\[\\]"''“”‘’]', '', 'g'), '[,;|，；｜、\\s\\p{Z}]+'), lambda one : one <> '')`;
  return `unnest(CASE WHEN symbols IS NOT NULL THEN ${list} ELSE [symbol] END)`;
}

/**
 * Members of universes, one a row, with `verdict`.
 *
 * @param dated places of files whose memberships have dates: `from_date`, and `to_date` where it has ended.
 * @param tomorrow the first date that is in the future.
 */
export function membersSql(rows: ObjectRows, dated: readonly number[], tomorrow: string): string {
  const { columns, joins } = rows.datesSql();
  const isDated = dated.length === 0 ? "false" : `file IN (${dated.join(", ")})`;
  const only = (test: string): string => test.replace("WHEN ", `WHEN ${isDated} AND `);
  const tests = [
    `WHEN id IS NULL THEN ['null_in_required', 'id is empty']`,
    ...SYMBOL_TESTS,
    ...dateTests("from_date", true).map(only),
    ...dateTests("to_date", false).map(only),
    ...[
      `WHEN from_date >= DATE ${literal(tomorrow)} THEN ['out_of_range', 'from_date ' || from_date || ' is in the future']`,
      `WHEN to_date >= DATE ${literal(tomorrow)} THEN ['out_of_range', 'to_date ' || to_date || ' is in the future']`,
      `WHEN to_date <= from_date THEN ['out_of_range', 'to_date ' || to_date || ' is not after from_date ' || from_date]`,
    ].map(only),
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict
    FROM (SELECT r.* EXCLUDE (from_date, to_date), s.symbol, s.region AS symbol_region, s.reason AS symbol_reason, ${columns.join(", ")}
      FROM (SELECT file, form, rowid AS "row", rowid - min(rowid) OVER (PARTITION BY file) AS file_row, id, name, category, region, description, source,
        from_date, to_date, ${memberTextsSql()} AS symbol_text FROM ${rows.raw}) r
      LEFT JOIN ${rows.symbols} s ON s.text = r.symbol_text ${joins})`;
}

/** SQL of the instant at which a date begins in a region; null for null. */
function instantSql(date: string): string {
  return `CASE WHEN ${date} IS NOT NULL THEN make_timestamptz(CAST(${localMidnightSql(date, "region")} AS BIGINT) * 1000) END`;
}

/** The columns of ranges of members, as they land. @param members a table expression with dates, source and the universe's region. */
export function rangesSql(members: string): string {
  return `SELECT DISTINCT id, symbol, region, ${instantSql("from_date")} AS valid_from, ${instantSql("to_date")} AS valid_to, source FROM ${members}`;
}

/**
 * SQL that sets aside memberships that overlap: others of their member in the files, and those that were imported before.
 * Those that begin on the same day as one before are its correction.
 *
 * @param isDated SQL of whether a row has dates. @param before a query of what was imported before, with dates.
 */
export function overlappingSql(judged: string, isDated: string, before: string): string {
  const own = `(SELECT "row", file, verdict, id, symbol, from_date AS valid_from, to_date AS valid_to FROM ${judged} WHERE ${isDated})`;
  const differ = "(a.valid_from <> b.valid_from OR a.valid_to IS DISTINCT FROM b.valid_to)";
  const overlap = `a.id = b.id AND a.symbol = b.symbol AND ${differ}
    AND a.valid_from < coalesce(b.valid_to, 'infinity') AND b.valid_from < coalesce(a.valid_to, 'infinity')`;
  return `UPDATE ${judged} AS j SET verdict = ['overlapping_members', j.symbol || ' in ' || j.id || ' from ' || j.from_date || coalesce(' to ' || j.to_date, '')
      || ' overlaps its membership from ' || o.other_from || coalesce(' to ' || o.other_to, '') || o.place]
    FROM (
      SELECT a."row", a.symbol, min(b.valid_from) AS other_from, arg_min(b.valid_to, b.valid_from) AS other_to, ' in the files' AS place
      FROM ${own} a JOIN ${own} b ON ${overlap} WHERE a.verdict IS NULL AND b.verdict IS NULL GROUP BY ALL
      UNION ALL
      SELECT a."row", a.symbol, min(b.valid_from), arg_min(b.valid_to, b.valid_from), ' that was imported before'
      FROM ${own} a JOIN (${before}) b ON ${overlapsSql("a", "b")} WHERE a.verdict IS NULL GROUP BY ALL) AS o
    WHERE j.verdict IS NULL AND j."row" = o."row" AND j.symbol = o.symbol`;
}
