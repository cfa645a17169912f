import type { Issue } from "../../core/issue.js";
import { isSymbol } from "../../market/symbol.js";

/**
 * Why the bars of a symbol in a response are not accepted; undefined where they are. @param requested undefined: any
 * symbol is accepted.
 */
export function strangeSymbol(
  symbol: string,
  requested: Pick<ReadonlySet<string>, "has"> | undefined,
  byteOffset: number,
): Issue | undefined {
  const isWellFormed = isSymbol(symbol);
  if (isWellFormed && (requested === undefined || requested.has(symbol))) return undefined;
  const where = { symbol: symbol.slice(0, 64), byteOffset, rejected: 0 };
  if (!isWellFormed)
    return { ...where, rule: "bad_symbol", message: `key "${where.symbol}" is not a symbol` };
  return { ...where, rule: "not_requested", message: `${symbol} was not requested` };
}
