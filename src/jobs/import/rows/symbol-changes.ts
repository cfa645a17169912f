import { literal } from "../../../db/quote.js";
import { SYMBOL_CHANGE_KINDS, type SymbolChangeKind } from "../../../schema/actions.js";
import { nextWeekdaySql } from "./actions.js";
import { dateTests, type ObjectFields, type ObjectRows, SYMBOL_TESTS } from "./object-rows.js";

/** The fields of files of symbol changes. */
export const SYMBOL_CHANGE_FIELDS: ObjectFields = {
  texts: ["new_symbol", "kind", "map_ticker", "source"],
  dates: ["from_date", "until_date"],
  numbers: [],
};

/** SQL of the texts of symbols in a row. */
export const CHANGED_SYMBOL_TEXTS = "unnest([symbol, new_symbol, map_ticker])";

/** Kinds by the words that sources use, in lower case. */
const KINDS: Readonly<Record<SymbolChangeKind, readonly string[]>> = {
  rename: ["rename", "renamed", "ticker change", "symbol change", "ticker_change", "更名"],
  merger: ["merger", "merger into", "merged", "acquisition", "吸收合并"],
  reuse: ["reuse", "reused", "code given to another company"],
  delisting: ["delisting", "delisted", "delist", "退市"],
};

/** Which files of symbol changes have which form. */
export interface ChangeForms {
  /** Places of files without a kind, of symbols that trade no longer. */
  readonly delistings: readonly number[];
  /** Places of map files of LEAN: a row has the symbol up to its date, the last one that of today. */
  readonly maps: readonly number[];
}

/** The last date of a map file of LEAN of what still trades. */
const STILL = "DATE '2050-12-31'";

const inFiles = (places: readonly number[]): string =>
  places.length === 0 ? "false" : `file IN (${places.join(", ")})`;

/**
 * What rows of files become, with `verdict`. In a map file of LEAN a symbol changes on the weekday after a row whose
 * symbol is another than the next row's, and trades no longer after the last row. A date that cannot be read leaves the
 * order of all its rows open.
 *
 * @param defaultSource SQL of the source of a file that does not say it.
 */
export function symbolChangesSql(
  rows: ObjectRows,
  { delistings, maps }: ChangeForms,
  defaultSource: string,
): string {
  const symbolsOf = (text: string, as: string): string =>
    `LEFT JOIN ${rows.symbols} ${as} ON ${as}.text = ${text}`;
  const own = `SELECT r.* EXCLUDE (new_symbol, kind, map_ticker, source), r.new_symbol AS new_text, n.symbol AS new_symbol, n.reason AS new_reason, r.kind AS kind_text,
      CASE ${Object.entries(KINDS)
        .map(
          ([kind, words]) =>
            `WHEN lower(trim(r.kind)) IN (${words.map(literal).join(", ")}) THEN ${literal(kind)}`,
        )
        .join(
          " ",
        )} WHEN r.kind IS NULL AND r.new_symbol IS NOT NULL THEN 'rename' WHEN ${inFiles(delistings)} THEN 'delisting' END AS kind,
      coalesce(nullif(trim(r.source), ''), ${defaultSource}) AS source
    FROM ${rows.rowsSql()} r ${symbolsOf("r.new_symbol", "n")} WHERE NOT (${inFiles(maps)})`;
  const mapped = `SELECT m.* EXCLUDE (next_text, map_ticker, new_symbol, kind, source) REPLACE (o.symbol AS symbol, o.region AS region, o.reason AS symbol_reason, m.map_ticker AS symbol_text,
        CASE WHEN m.from_date_kind = 'date' THEN ${nextWeekdaySql("m.from_date")} END AS from_date),
      m.next_text AS new_text, n.symbol AS new_symbol, n.reason AS new_reason, NULL::VARCHAR AS kind_text,
      CASE WHEN m.next_text IS NULL THEN 'delisting' ELSE 'rename' END AS kind, ${defaultSource} AS source
    FROM (SELECT * REPLACE (CASE WHEN bool_or(from_date IS NULL) OVER (PARTITION BY file) THEN NULL ELSE from_date END AS from_date),
        lead(map_ticker) OVER (PARTITION BY file ORDER BY from_date) AS next_text FROM ${rows.rowsSql()} r WHERE ${inFiles(maps)}) m
    ${symbolsOf("m.map_ticker", "o")} ${symbolsOf("m.next_text", "n")}
    WHERE m.from_date IS NULL OR (m.next_text IS NULL AND m.from_date < ${STILL}) OR upper(m.next_text) <> upper(m.map_ticker)`;
  const tests = [
    ...SYMBOL_TESTS,
    ...dateTests("from_date", true),
    ...dateTests("until_date", false),
    `WHEN kind IS NULL THEN CASE WHEN kind_text IS NULL THEN ['null_in_required', 'kind is empty, and there is no new symbol']
       ELSE ['unparsable', 'kind "' || left(kind_text, 40) || '" is none of ${SYMBOL_CHANGE_KINDS.join(", ")}'] END`,
    "WHEN new_text IS NOT NULL AND new_symbol IS NULL THEN ['bad_symbol', new_reason]",
    "WHEN kind IN ('rename', 'merger') AND new_symbol IS NULL THEN ['null_in_required', 'the new symbol of a ' || kind || ' is empty']",
    "WHEN kind = 'delisting' AND new_symbol IS NOT NULL THEN ['out_of_range', 'a delisting has no new symbol, as a rename or a merger has']",
    "WHEN new_symbol = symbol THEN ['circular_rename', symbol || ' is renamed to itself']",
    "WHEN until_date <= from_date THEN ['out_of_range', 'until_date ' || until_date || ' is not after from_date ' || from_date]",
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict FROM (${own} UNION ALL BY NAME ${mapped})`;
}

/**
 * SQL that sets aside the changes of one day that come back to where they began: what is called what after it is not
 * known.
 *
 * @param judged a table of rows. @param before a query of the changes that the lake has.
 */
export function circularSql(judged: string, before: string): string {
  const changes = (from: string): string =>
    `SELECT symbol, new_symbol, from_date FROM ${from} WHERE kind IN ('rename', 'merger') AND new_symbol IS NOT NULL`;
  return `UPDATE ${judged} AS j SET verdict = ['circular_rename', j.symbol || ' becomes ' || j.new_symbol || ' on ' || j.from_date || ', and that day comes back to ' || j.symbol]
    FROM (WITH RECURSIVE changes AS (${changes(`(SELECT * FROM ${judged} WHERE verdict IS NULL)`)} UNION ${changes(`(${before})`)}),
        reached AS (SELECT symbol AS start, new_symbol AS now, from_date FROM changes
          UNION SELECT r.start, c.new_symbol, r.from_date FROM reached r JOIN changes c ON c.symbol = r.now AND c.from_date = r.from_date)
      SELECT DISTINCT start, from_date FROM reached WHERE now = start) AS c
    WHERE j.verdict IS NULL AND j.symbol = c.start AND j.from_date = c.from_date`;
}
