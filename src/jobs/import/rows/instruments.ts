import { codeSql, exchangeSql } from "../../../db/market/symbol-sql.js";
import { ident, literal } from "../../../db/quote.js";
import { INSTRUMENT_EXT, INSTRUMENTS } from "../../../schema/reference.js";
import {
  dateTests,
  NUMBER_TEST,
  type ObjectFields,
  SHARE_FIELDS,
  SYMBOL_TESTS,
  sharesTests,
} from "./object-rows.js";

const numbers = INSTRUMENT_EXT.filter(({ type }) => type === "double").map(({ name }) => name);

export const INSTRUMENT_FIELDS: ObjectFields = {
  texts: ["name", "type", "name_en", "ext_type", "ext_other"],
  dates: ["listing_date"],
  numbers,
};

/** Kinds of instruments by the words that sources use, in lower case. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  stock: ["stock", "stocks", "equity", "common stock", "cs", "share", "股票", "个股", "a股", "1"],
  etf: ["etf", "etfs", "exchange traded fund"],
  index: ["index", "indices", "idx", "指数", "2"],
  bond: ["bond", "bonds", "convertible bond", "债券", "可转债"],
  fund: ["fund", "funds", "lof", "reit", "基金"],
  futures: ["futures", "future", "期货"],
  options: ["options", "option", "期权"],
  other: ["other", "其他", "其它"],
};

/** What a row of instruments becomes: its columns, and `verdict`, the rule and the reason for which it is set aside. */
export function instrumentsSql(rows: string): string {
  const kinds = Object.entries(KINDS).map(
    ([kind, words]) => `WHEN lower(trim(type)) IN (${words.map(literal).join(", ")}) THEN ${literal(kind)}`,
  );
  const kind = `CASE WHEN type IS NULL THEN NULL ${kinds.join(" ")} END`;
  const tests = [
    ...SYMBOL_TESTS,
    ...dateTests("listing_date", false),
    NUMBER_TEST,
    ...sharesTests([...SHARE_FIELDS]),
    "WHEN lot_size < 0 THEN ['out_of_range', 'lot_size ' || lot_size || ' is below 0']",
    "WHEN tick_size < 0 THEN ['out_of_range', 'tick_size ' || tick_size || ' is below 0']",
    `WHEN type IS NOT NULL AND kind IS NULL THEN ['unparsable', 'type "' || left(type, 40) || '" is none of ${Object.keys(KINDS).join(", ")}']`,
  ];
  return `SELECT *, CASE ${tests.join(" ")} END AS verdict FROM (SELECT *, ${kind} AS kind FROM ${rows})`;
}

/** The columns of the staged instruments, from rows without a verdict. */
export function instrumentColumnsSql(): string {
  const own: Readonly<Record<string, string>> = {
    code: codeSql("symbol"),
    exchange: exchangeSql("symbol"),
    type: "kind",
  };
  return INSTRUMENTS.columns
    .filter(({ name }) => !name.startsWith("valid_"))
    .map(({ name }) => `${own[name] ?? ident(name)} AS ${ident(name)}`)
    .join(", ");
}
