import { type ObjectFields, SYMBOL_TESTS } from "./object-rows.js";

export const UNIVERSE_FIELDS: ObjectFields = {
  texts: ["id", "name", "category", "region", "description", "symbols"],
  dates: [],
  numbers: [],
};

/** SQL of the texts of members: each of a list, or of a text with separators, or the symbol of the row. */
export function memberTextsSql(): string {
  const list = `list_filter(string_split_regex(regexp_replace(symbols, '[\\[\\]"''“”‘’]', '', 'g'), '[,;|，；｜、\\s\\p{Z}]+'), lambda one : one <> '')`;
  return `unnest(CASE WHEN symbols IS NOT NULL THEN ${list} ELSE [symbol] END)`;
}

/** Members of universes, one a row, with `verdict`. @param raw the rows as texts. @param symbols what texts were read as. */
export function membersSql(raw: string, symbols: string): string {
  const tests = [`WHEN id IS NULL THEN ['null_in_required', 'id is empty']`, ...SYMBOL_TESTS];
  return `SELECT m.*, s.symbol, s.region AS symbol_region, s.reason AS symbol_reason, CASE ${tests.join(" ")} END AS verdict
    FROM (SELECT file, rowid AS "row", rowid - min(rowid) OVER (PARTITION BY file) AS file_row, id, name, category, region, description,
      ${memberTextsSql()} AS symbol_text FROM ${raw}) m
    LEFT JOIN ${symbols} s ON s.text = m.symbol_text`;
}
