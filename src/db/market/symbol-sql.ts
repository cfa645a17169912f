import { MAX_SYMBOL_LENGTH, SYMBOL_FORM } from "../../market/symbol.js";
import { literal } from "../quote.js";

/** Whether a text has the form of a symbol, by the same expression as `isSymbol`; null for null. */
export function isSymbolSql(text: string): string {
  return `(length(${text}) <= ${MAX_SYMBOL_LENGTH} AND regexp_full_match(${text}, ${literal(SYMBOL_FORM)}))`;
}

/** A symbol as services write it, by the same rule as `canonicalSymbol`. */
export function canonicalSymbolSql(text: string): string {
  return `CASE WHEN regexp_full_match(${text}, '\\d{1,4}\\.HK') THEN lpad(${text}, 8, '0') ELSE ${text} END`;
}
