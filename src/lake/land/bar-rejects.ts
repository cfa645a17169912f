import type { IssueRule } from "../../core/issue.js";
import { unknownExchangeReasonSql } from "../../db/market/symbol-sql.js";
import { ident, literal } from "../../db/quote.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import type { Rejects } from "./rejects.js";

/** Rules that a bar must meet to land; the first broken rule is the reason. `cut-bars.ts` tests the same rules. */
const RULES: readonly (readonly [rule: IssueRule, breaks: string, reason: string])[] = [
  ["unknown_exchange", "region IS NULL", unknownExchangeReasonSql("symbol")],
  [
    "null_in_required",
    "open + high + low + close + amount + volume IS NULL",
    "'a price, the volume or the amount is null'",
  ],
  [
    "out_of_range",
    "NOT isfinite(open + high + low + close + amount)",
    "'a price or the amount is not a finite number'",
  ],
  ["out_of_range", "volume < 0", "'volume ' || volume || ' is below 0'"],
  ["high_below_low", "high < low", "'high ' || high || ' is below low ' || low"],
];

/** SQL of the name of the first rule that a bar breaks, or null. It uses the columns of a bar, and its region. */
export const BROKEN_RULE = `CASE ${RULES.map(([name, breaks]) => `WHEN ${breaks} THEN ${literal(name)}`).join(" ")} END`;

/**
 * Adds bars that break a rule to the rejects.
 *
 * @param from a table expression: the columns of a bar, `region`, `rule` (from {@link BROKEN_RULE}), `source`, `line`.
 */
export async function rejectBroken(rejects: Rejects, table: TableSchema, from: string): Promise<void> {
  const reason = RULES.map(([, breaks, text]) => `WHEN ${breaks} THEN ${text}`).join(" ");
  await rejects.add(table.name, rejectSql("rule", `CASE ${reason} END`, from));
}

/**
 * Adds to the rejects the bars that have the same key as an earlier bar of the same delivery.
 *
 * @param from a table expression: the columns of a bar, `source`, `line`.
 * @param reason SQL of the reason.
 */
export async function rejectRepeats(
  rejects: Rejects,
  table: TableSchema,
  from: string,
  reason = "symbol || ' at ' || timestamp || ' is repeated in this delivery; the first bar was used'",
): Promise<void> {
  await rejects.add(table.name, rejectSql("'duplicate_key'", reason, from));
}

function rejectSql(rule: string, reason: string, from: string): string {
  const members = KLINE_COLUMNS.map((c) => `${ident(c.name)} := ${ident(c.name)}`).join(", ");
  return `SELECT source, line, symbol, CAST(timestamp AS VARCHAR) AS timestamp, ${rule} AS rule, ${reason} AS reason,
    to_json(struct_pack(${members})) AS row FROM ${from}`;
}
