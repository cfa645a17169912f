import type { QueryValues } from "../../db/session/query-values.js";
import type { CopyKind } from "./sql-copy.js";

const MINUTE_PERIOD = "(?:1|5|10|15|30|60)m";
/** What names the table of minutes, or a period that is made of them. */
const IN_TEXT = new RegExp(`bars_1m|'${MINUTE_PERIOD}'`, "i");
const AS_VALUE = new RegExp(`^${MINUTE_PERIOD}$`);

/**
 * Whether a copy of a kind may pay for a query. Minutes take much space, so they are copied only for queries that name
 * them, and not for those of a user's view that reads minutes.
 */
export function asksFor(kind: CopyKind, sql: string, values: QueryValues = {}): boolean {
  const hasPeriod = Object.values(values).some((value) => typeof value === "string" && AS_VALUE.test(value));
  return kind === "days" || hasPeriod || IN_TEXT.test(sql);
}
