import { UsageError } from "../core/errors.js";
import { literal } from "../db/quote.js";
import type { NamedValues, TypedValue } from "../db/session/named-values.js";
import { sqlTokens } from "../db/statement/sql-tokens.js";

/** Types of DuckDB that have another name in Trino. */
const TRINO_TYPE: Readonly<Record<string, string>> = {
  TIMESTAMP: "TIMESTAMP(6)",
  "TIMESTAMP WITH TIME ZONE": "TIMESTAMP(6) WITH TIME ZONE",
  FLOAT: "REAL",
  HUGEINT: "DECIMAL(38, 0)",
};

/**
 * A statement in which the parameters `$name` are replaced by values, as literals of their types. Line numbers do not
 * change.
 *
 * @throws {UsageError} for a parameter without a value.
 */
export function withParameters(sql: string, values: NamedValues): string {
  const tokens = sqlTokens(sql);
  let bound = "";
  for (let at = 0; at < tokens.length; at++) {
    const [token, name] = [tokens[at], tokens[at + 1]];
    if (token?.text !== "$" || name?.kind !== "word") {
      bound += token?.text ?? "";
      continue;
    }
    const value = values.get(name.text);
    if (value === undefined) {
      throw new UsageError(`parameter $${name.text} has no value`, {
        hint: values.size > 0 ? `known: ${[...values.keys()].join(", ")}` : "none is declared",
      });
    }
    bound += valueSql(value);
    at++;
  }
  return bound;
}

function valueSql({ value, type }: TypedValue): string {
  const name = TRINO_TYPE[type.toString()] ?? type.toString();
  if (value === null) return `CAST(NULL AS ${name})`;
  const text = String(value);
  // Trino requires an offset with minutes.
  const isInstant = /\d{2}:\d{2}:\d{2}(\.\d+)?[+-]\d{2}$/.test(text);
  return `CAST(${literal(isInstant ? `${text}:00` : text)} AS ${name})`;
}
