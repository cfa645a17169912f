import type { QueryValues } from "../../db/session/query-values.js";
import type { CopyKind } from "./sql-copy.js";

/** SQL does not distinguish capital letters in names, but a period of months is 1M. */
const TABLE = /bars_1m/i;
const PERIOD = /'(?:1|5|10|15|30|60)m'/;

/**
 * Whether a copy of a kind may pay for a query. Minutes take much space, so they are copied only for queries that name
 * them, and not for those of a user's view that reads minutes.
 */
export function asksFor(kind: CopyKind, sql: string, values: QueryValues = {}): boolean {
  const texts = Object.values(values).map((value) => `'${String(value)}'`);
  return kind === "days" || TABLE.test(sql) || [sql, ...texts].some((text) => PERIOD.test(text));
}
