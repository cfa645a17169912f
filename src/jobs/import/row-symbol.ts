import { UsageError } from "../../core/errors.js";
import { canonicalSymbolSql } from "../../db/market/symbol-sql.js";
import { literal } from "../../db/quote.js";
import { EXCHANGE_REGION } from "../../market/regions.js";
import { canonicalSymbol, isSymbol, parseSymbol } from "../../market/symbol.js";
import type { ImportOptions } from "./import-options.js";
import { type Source, stemOf, textSql } from "./source.js";

const EXCHANGES = Object.keys(EXCHANGE_REGION);
/** The end of a symbol that names its exchange. */
const SUFFIX = `\\.(${EXCHANGES.join("|")})$`;

type SymbolOptions = Pick<ImportOptions, "symbol" | "exchange">;

/**
 * SQL of the symbol in a column, as services write it: `AAPL` becomes `AAPL.US` where the exchange option is US. Null
 * where the row has no symbol.
 */
export function columnSymbolSql(text: string, { exchange }: SymbolOptions): string {
  if (exchange === undefined) return canonicalSymbolSql(text);
  const full = `CASE WHEN regexp_matches(${text}, ${literal(SUFFIX)}) THEN ${text} ELSE ${text} || ${literal(`.${exchange}`)} END`;
  return canonicalSymbolSql(`(${full})`);
}

/**
 * SQL of the symbol of a row: the option for all rows, else the one in its column, else the one in the file's name.
 *
 * @throws {UsageError} where a file has none of these.
 */
export function rowSymbolSql(source: Source, column: string | undefined, options: SymbolOptions): string {
  if (options.symbol !== undefined) return literal(parseSymbol(options.symbol));
  if (column !== undefined) return columnSymbolSql(textSql(column), options);
  const stem = stemOf(source.path);
  const isFull = options.exchange === undefined || new RegExp(SUFFIX).test(stem);
  const symbol = canonicalSymbol(isFull ? stem : `${stem}.${options.exchange}`);
  if (isSymbol(symbol)) return literal(symbol);
  throw new UsageError(`file ${source.path}: has no column "symbol", and its name is not a symbol`, {
    hint: 'add `symbol: "AAPL.US"`, or `exchange: "US"` where the name is a code, or give the column with `map: { symbol: "COLUMN" }`',
  });
}

/**
 * Checks the options about the symbols of files.
 *
 * @throws {UsageError} for an unknown exchange, a text that is not a symbol, and one symbol for several files.
 */
export function checkSymbolOptions({ symbol, exchange }: SymbolOptions, files: readonly string[]): void {
  if (exchange !== undefined && !EXCHANGES.includes(exchange)) {
    throw new UsageError(`\`exchange: "${exchange}"\`: is not known`, {
      hint: `the suffixes are ${EXCHANGES.join(", ")}`,
    });
  }
  if (symbol === undefined) return;
  parseSymbol(symbol);
  if (exchange !== undefined)
    throw new UsageError("`symbol` and `exchange` exclude each other", {
      hint: "a symbol names its exchange",
    });
  if (files.length > 1) {
    throw new UsageError(`\`symbol: "${symbol}"\`: is for one file, and there are ${files.length}`, {
      hint: "name the files after their symbols and leave `symbol` out; `exchange` completes bare codes",
    });
  }
}
