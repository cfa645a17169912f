import { currencySql } from "../../../db/market/region-sql.js";
import { ident, literal } from "../../../db/quote.js";
import { LEAST_EX_CHANGE } from "../../../market/ex-rule.js";
import {
  ACTION_KINDS,
  type ActionKind,
  SYMBOL_CHANGE_KINDS,
  type SymbolChangeKind,
} from "../../../schema/actions.js";
import { isMissingSql, scaledSql } from "./number-sql.js";
import { dateTests, NUMBER_TEST, type ObjectFields, type ObjectRows, SYMBOL_TESTS } from "./object-rows.js";
import { singleSql } from "./split-bars.js";

/**
 * The fields of files of actions. A file has an action a row, with its `kind`, `cash` and `ratio`; or, without `kind`, a
 * column for each kind: `cash`, `split`, `stock_dividend` and `rights`, of which 0 says that there is none.
 */
export const ACTION_FIELDS: ObjectFields = {
  texts: ["kind", "source", "currency", "ratio", "split", "category"],
  dates: ["ex_date", "announce_date", "record_date", "pay_date"],
  numbers: ["cash", "stock_dividend", "transferred", "rights", "price"],
};

/** Kinds of actions by the words that sources use, in lower case, with blanks for all signs between words. */
const KINDS: Readonly<Record<ActionKind, readonly string[]>> = {
  cash_dividend: [
    "cash dividend",
    "dividend",
    "dividends",
    "cash",
    "div",
    "cd",
    "sc",
    "special dividend",
    "现金分红",
    "分红",
    "派息",
  ],
  stock_dividend: ["stock dividend", "bonus", "bonus issue", "scrip", "送股", "转增", "送转股"],
  split: ["split", "stock split", "splits", "forward split", "拆股", "拆分"],
  consolidation: ["consolidation", "reverse split", "合股", "缩股", "合并"],
  rights: ["rights", "rights issue", "配股"],
  spin_off: ["spin off", "spinoff", "分拆"],
  other: ["other", "其他", "其它"],
};

/** Currencies by other names than their code, in upper case. */
const CURRENCIES: Readonly<Record<string, readonly string[]>> = {
  CNY: ["RMB", "CNH", "人民币", "元"],
  HKD: ["HK$", "港币", "港元"],
  USD: ["US$", "$", "美元"],
};

/** SQL of the key of {@link wordsOf} lists that has a text; the text itself where none has. */
function wordSql(text: string, words: Readonly<Record<string, readonly string[]>>): string {
  const cases = Object.entries(words).map(
    ([name, list]) => `WHEN ${text} IN (${list.map(literal).join(", ")}) THEN ${literal(name)}`,
  );
  return `CASE ${cases.join(" ")} ELSE ${text} END`;
}

/** A ratio of two numbers: `4:1`, `4/1`, `4-for-1`. */
const RATIO = String.raw`(\d+(?:\.\d+)?)\s*(?:[:：/]|[\s-]*for[\s-]*)\s*(\d+(?:\.\d+)?)`;

/** SQL of the number of a text such as `4`, `4.0` or `4:1`; null where it is none. */
function ratioSql(text: string): string {
  const part = (group: number): string =>
    `TRY_CAST(regexp_extract(trim(${text}), ${literal(`^${RATIO}$`)}, ${group}) AS DOUBLE)`;
  return `coalesce(TRY_CAST(trim(${text}) AS DOUBLE), CASE WHEN NOT ${isMissingSql(text)} THEN ${part(1)} / ${part(2)} END)`;
}

interface ActionForms {
  /** Places of files with an action a row, by its kind. */
  readonly withKind: readonly number[];
  /** Places of files whose cash and shares are for ten shares, some in numbers of single precision. */
  readonly forTen: readonly number[];
  /** Places of files of Tongdaxin, whose rows have a category. */
  readonly withCategory: readonly number[];
  /** Places of files whose cash is for a share after all later splits of the file. */
  readonly inSharesOfToday: readonly number[];
}

const inFiles = (places: readonly number[]): string =>
  places.length === 0 ? "false" : `file IN (${places.join(", ")})`;

/** The categories of Tongdaxin that are ex-events: payouts and rights, and changes of a fund's units. */
export const EX_CATEGORIES = "('1', '11')";

/**
 * What rows of files become: a row for each action, with `verdict`, the rule and the reason for which it is set aside. A row
 * of a file with a column for each kind that says none becomes no row.
 *
 * @param known SQL of whether the lake knows the symbol.
 * @param defaultSource SQL of the source of a file that does not say it.
 */
export function actionsSql(
  rows: string,
  { withKind, forTen, withCategory, inSharesOfToday }: ActionForms,
  known: string,
  defaultSource: string,
): string {
  const isTen = inFiles(forTen);
  const tenth = (name: string): string =>
    `CASE WHEN ${isTen} THEN ${scaledSql(`round(${name}, 6)`, -1)} ELSE ${name} END`;
  const read = `SELECT * REPLACE (${tenth("cash")} AS cash, ${tenth("coalesce(stock_dividend + transferred, stock_dividend, transferred)")} AS stock_dividend, ${tenth("rights")} AS rights,
      CASE WHEN ${isTen} THEN round(price, 6) ELSE price END AS price),
      ${ratioSql("ratio")} AS ratio_number,
      CASE WHEN ${isTen} THEN round(${ratioSql("split")}, 7) ELSE ${ratioSql("split")} END AS split_number
    FROM ${rows} WHERE NOT (${inFiles(withCategory)}) OR category IN ${EX_CATEGORIES}`;
  // Cash of the day of a split is for a share before it.
  const since =
    "product(CASE WHEN split_number > 0 THEN split_number ELSE 1 END) OVER (PARTITION BY file, symbol ORDER BY ex_date DESC)";
  const ofThen = `SELECT * EXCLUDE since REPLACE (CASE WHEN since <> 1 AND ${inFiles(inSharesOfToday)} THEN ${singleSql("(cash * since)")} ELSE cash END AS cash)
    FROM (SELECT *, ${since} AS since FROM (${read}))`;
  const isOdd = (name: string): string =>
    `CASE WHEN ${name} IS NULL OR ${name}_number IS NOT NULL THEN false ELSE NOT ${isMissingSql(name)} END`;
  const one = (kind: string, values: Readonly<Record<string, string>>): string =>
    `{'action': ${kind}, 'c': ${values.cash ?? "NULL::DOUBLE"}, 'r': ${values.ratio ?? "NULL::DOUBLE"}, 'p': ${values.price ?? "NULL::DOUBLE"}}`;
  const some = (condition: string, action: string): string => `CASE WHEN ${condition} THEN ${action} END`;
  const kindText = `trim(regexp_replace(lower(kind), '[\\s_-]+', ' ', 'g'))`;
  const kindSql = `CASE WHEN kind IN (${ACTION_KINDS.map(literal).join(", ")}) THEN kind ELSE ${wordSql(kindText, KINDS)} END`;
  const says = (name: string): string => `${name} IS NOT NULL AND ${name} <> 0`;
  const wide = [
    some(says("cash"), one("'cash_dividend'", { cash: "cash" })),
    some(`${says("split_number")} AND split_number <> 1`, one("'split'", { ratio: "split_number" })),
    some(says("stock_dividend"), one("'stock_dividend'", { ratio: "stock_dividend" })),
    some(says("rights"), one("'rights'", { ratio: "rights", price: "price" })),
  ];
  const list = `CASE WHEN ${inFiles(withKind)} THEN [${one(kindSql, { cash: "cash", ratio: "ratio_number", price: "price" })}]
    ELSE list_filter([${wide.join(", ")}], lambda x : x IS NOT NULL) END`;
  // A row that cannot be read is set aside once, and also where none of its numbers can be read.
  const isOddRow = `(odd IS NOT NULL OR ${isOdd("split")})`;
  const expanded = `SELECT *, unnest(CASE WHEN len(actions) = 0 AND ${isOddRow} THEN [${one("NULL", {})}]
      WHEN symbol IS NULL OR ex_date IS NULL OR ${isOddRow} THEN actions[:1] ELSE actions END) AS a
    FROM (SELECT *, ${list} AS actions FROM (${inSharesOfToday.length === 0 ? read : ofThen}))`;
  const named = `SELECT * EXCLUDE (actions, a, kind, cash, ratio, price, source, currency),
      CASE WHEN a.action = 'split' AND a.r < 1 THEN 'consolidation' ELSE a.action END AS kind, kind AS kind_text,
      a.c AS cash, a.r AS ratio, a.p AS price,
      coalesce(nullif(trim(source), ''), ${defaultSource}) AS source,
      ${wordSql("upper(trim(currency))", CURRENCIES)} AS currency, CASE WHEN currency IS NOT NULL THEN ${currencySql("symbol", "region")} END AS own_currency,
      ratio AS ratio_text, split AS split_text, ${isOdd("ratio")} AS is_odd_ratio, ${isOdd("split")} AS is_odd_split,
      ${known} AS is_known
    FROM (${expanded})`;
  return `SELECT *, CASE ${ACTION_TESTS.join(" ")} END AS verdict FROM (${named})`;
}

const isNone = (name: string): string => `(${name} IS NULL OR ${name} = 0)`;
const kindIs = (...kinds: readonly ActionKind[]): string => `kind IN (${kinds.map(literal).join(", ")})`;

/** SQL of the rule and the reason for which an action cannot land; for a CASE, the first one counts. */
const ACTION_TESTS: readonly string[] = [
  ...SYMBOL_TESTS,
  ...dateTests("ex_date", true),
  ...["announce_date", "record_date", "pay_date"].flatMap((name) => dateTests(name, false)),
  NUMBER_TEST,
  "WHEN is_odd_ratio THEN ['unparsable', 'ratio \"' || left(ratio_text, 40) || '\" is no ratio, such as 4 or 4:1']",
  "WHEN is_odd_split THEN ['unparsable', 'split \"' || left(split_text, 40) || '\" is no ratio, such as 4 or 4:1']",
  "WHEN kind IS NULL THEN ['null_in_required', 'kind is empty']",
  `WHEN kind NOT IN (${ACTION_KINDS.map(literal).join(", ")}) THEN ['unparsable', 'kind "' || left(kind_text, 40) || '" is none of ${ACTION_KINDS.join(", ")}']`,
  "WHEN cash < 0 THEN ['out_of_range', 'cash ' || cash || ' is below 0']",
  "WHEN price < 0 THEN ['out_of_range', 'price ' || price || ' is below 0']",
  `WHEN ratio < 0 OR (ratio = 0 AND ${kindIs("stock_dividend", "split", "consolidation", "rights", "spin_off")}) THEN ['out_of_range', 'ratio ' || ratio || ' is not above 0']`,
  "WHEN NOT isfinite(ratio) THEN ['out_of_range', 'ratio ' || ratio || ' is not above 0']",
  `WHEN ${kindIs("cash_dividend")} AND ${isNone("cash")} THEN ['null_in_required', 'cash of a dividend is ' || CASE WHEN cash = 0 THEN '0' ELSE 'empty' END]`,
  `WHEN ${kindIs("stock_dividend", "split", "consolidation", "rights")} AND ratio IS NULL THEN ['null_in_required', 'ratio of ' || kind || ' is empty']`,
  `WHEN ${kindIs("rights")} AND price IS NULL THEN ['null_in_required', 'price of rights is empty']`,
  `WHEN ${kindIs("spin_off", "other")} AND ${isNone("cash")} AND ratio IS NULL THEN ['null_in_required', kind || ' has neither cash nor a ratio']`,
  `WHEN ${kindIs("split", "consolidation")} AND ratio = 1 THEN ['out_of_range', 'ratio 1 of a split changes nothing']`,
  `WHEN ${kindIs("consolidation")} AND ratio > 1 THEN ['out_of_range', 'ratio ' || ratio || ' of a consolidation is above 1: it is the shares after it for one before, such as 0.1']`,
  "WHEN currency IS DISTINCT FROM own_currency AND currency IS NOT NULL AND currency <> '' THEN ['other_currency', 'currency ' || left(currency, 20) || ' is not that of its prices, ' || own_currency || ': write the amount in that']",
  ...ordered("announce_date", "ex_date"),
  ...ordered("announce_date", "record_date"),
  ...ordered("record_date", "pay_date"),
  "WHEN NOT is_known THEN ['unknown_symbol', 'the lake has neither bars nor an instrument of ' || symbol]",
];

/** SQL of the test that a date is not after another one. */
function ordered(before: string, after: string): string[] {
  return [
    `WHEN ${ident(before)} > ${ident(after)} THEN ['out_of_range', '${before} ' || ${ident(before)} || ' is after ${after} ' || ${ident(after)}]`,
  ];
}

/** The fields of files of factors, one event a row. */
export const FACTOR_FIELDS: ObjectFields = {
  texts: ["source"],
  dates: ["ex_date"],
  numbers: ["factor", "price_factor", "split_factor"],
};

function nextWeekdaySql(day: string): string {
  return `(${day} + CASE isodow(${day}) WHEN 5 THEN 3 WHEN 6 THEN 2 ELSE 1 END)`;
}

/**
 * The rows of files of factors with single events. A row of LEAN has what all events after its day come to, in prices and
 * in splits: the factor of the event after it is the quotient of the next row's product and its own, and its ex-date the
 * weekday after. On a holiday an event counts from the next session.
 *
 * @param cumulated places of files of LEAN.
 */
export function singleEventsSql(rows: string, cumulated: readonly number[]): string {
  if (cumulated.length === 0) return rows;
  const all = "price_factor * split_factor";
  const own = inFiles(cumulated);
  return `(SELECT * FROM ${rows} WHERE NOT (${own}) UNION ALL BY NAME
    SELECT * EXCLUDE quotient REPLACE (${nextWeekdaySql("ex_date")} AS ex_date, quotient AS factor)
    FROM (SELECT *, lead(${all}) OVER (PARTITION BY file, symbol ORDER BY ex_date) / (${all}) AS quotient FROM ${rows} WHERE ${own})
    WHERE abs(quotient - 1) >= ${LEAST_EX_CHANGE})`;
}

/** SQL of the files of LEAN of which a row cannot be read, or two have one date: the events around it are not known. */
export function brokenChainsSql(rows: string, cumulated: readonly number[]): string {
  return `SELECT file, min(coalesce(odd || ' is not a number', CASE WHEN ex_date IS NULL THEN ex_date_text || ' is no date' END,
      'a factor is empty, or not above 0')) FILTER (is_broken) AS broken,
      count(*) > count(DISTINCT (symbol, ex_date)) AS repeats
    FROM (SELECT *, coalesce(odd IS NOT NULL OR ex_date IS NULL OR NOT price_factor > 0 OR NOT split_factor > 0, true) AS is_broken
      FROM ${rows} WHERE ${inFiles(cumulated)})
    GROUP BY file HAVING bool_or(is_broken) OR repeats`;
}

/** As {@link actionsSql}, for factors. */
export function factorsSql(rows: string, known: string, defaultSource: string): string {
  const tests = [
    ...SYMBOL_TESTS,
    ...dateTests("ex_date", true),
    NUMBER_TEST,
    "WHEN factor IS NULL THEN ['null_in_required', 'factor is empty']",
    "WHEN factor <= 0 THEN ['out_of_range', 'factor ' || factor || ' is not above 0']",
    "WHEN NOT is_known THEN ['unknown_symbol', 'the lake has neither bars nor an instrument of ' || symbol]",
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict
    FROM (SELECT * REPLACE (coalesce(nullif(trim(source), ''), ${defaultSource}) AS source), ${known} AS is_known FROM ${rows})`;
}

export const SYMBOL_CHANGE_FIELDS: ObjectFields = {
  texts: ["new_symbol", "kind", "map_ticker", "source"],
  dates: ["from_date", "until_date"],
  numbers: [],
};

export const CHANGED_SYMBOL_TEXTS = "unnest([symbol, new_symbol, map_ticker])";

/** Kinds by the words that sources use, in lower case. */
const CHANGE_KINDS: Readonly<Record<SymbolChangeKind, readonly string[]>> = {
  rename: ["rename", "renamed", "ticker change", "symbol change", "ticker_change", "更名"],
  merger: ["merger", "merger into", "merged", "acquisition", "吸收合并"],
  reuse: ["reuse", "reused", "code given to another company"],
  delisting: ["delisting", "delisted", "delist", "退市"],
};

interface ChangeForms {
  /** Places of files without a kind, of symbols that trade no longer. */
  readonly delistings: readonly number[];
  /** Places of map files of LEAN: a row has the symbol up to its date, the last one that of today. */
  readonly maps: readonly number[];
}

/** The last date of a map file of LEAN of what still trades. */
const STILL = "DATE '2050-12-31'";

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
      CASE ${Object.entries(CHANGE_KINDS)
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
