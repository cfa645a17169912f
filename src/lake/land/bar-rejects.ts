import type { IssueRule } from "../../core/issue.js";
import { perRegion } from "../../db/market/region-sql.js";
import {
  hasOwnSessionsSql,
  unknownExchangeReasonSql,
  unknownSessionsSql,
} from "../../db/market/symbol-sql.js";
import { ident, literal } from "../../db/quote.js";
import { possibleEnds } from "../../market/sessions.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import type { Rejects } from "./rejects.js";

type Rule = readonly [rule: IssueRule, breaks: string, reason: string];

/** Rules that a bar must meet to land; the first broken rule is the reason. `cut-bars.ts` tests the same rules. */
const rulesOf = (amount: string, isFuture: string): readonly Rule[] => [
  ["unknown_exchange", "region IS NULL", unknownExchangeReasonSql("symbol")],
  ["out_of_range", isFuture, "'its time is in the future'"],
  [
    "null_in_required",
    `open + high + low + close + ${amount} + volume IS NULL`,
    "'a price, the volume or the amount is null'",
  ],
  [
    "out_of_range",
    `NOT isfinite(open + high + low + close + ${amount})`,
    "'a price or the amount is not a finite number'",
  ],
  ["out_of_range", "volume < 0", "'volume ' || volume || ' is below 0'"],
  ["high_below_low", "high < low", "'high ' || high || ' is below low ' || low"],
  [
    "no_trade",
    "close = 0 AND volume = 0 AND NOT coalesce(prev_close > 0 AND isfinite(prev_close), false)",
    "'it has neither a price nor a volume'",
  ],
];

/** The rule of minutes alone. */
const UNKNOWN_SESSIONS: Rule = [
  "unknown_sessions",
  hasOwnSessionsSql("symbol"),
  unknownSessionsSql("symbol"),
];

/** SQL of the amount of a bar that may lack one. */
const ANY_AMOUNT = "CASE WHEN isfinite(amount) THEN amount ELSE 0 END";

/** What decides on the bars of a landing. */
export interface BarRules {
  /** Bars after this instant are in the future (epoch ms). */
  readonly now: number;
  readonly table: TableSchema;
  /** Whether a bar may lack an amount. */
  readonly mayLackAmount?: boolean;
}

function rules({ now, table, mayLackAmount = false }: BarRules): readonly Rule[] {
  const ends = possibleEnds(now, isMinutes(table));
  const end = perRegion("region", ({ region }) => `make_timestamptz(${ends[region] * 1000}::BIGINT)`);
  const all = rulesOf(mayLackAmount ? ANY_AMOUNT : "amount", `timestamp >= ${end}`);
  return isMinutes(table) ? [...all, UNKNOWN_SESSIONS] : all;
}

/** Whether a table has minutes: it is divided by months. */
export const isMinutes = ({ partition }: TableSchema): boolean => partition.includes("month");

/** SQL of the name of the first rule that a bar breaks, or null. It uses the columns of a bar, and its region. */
export function brokenRuleSql(of: BarRules): string {
  return `CASE ${rules(of)
    .map(([name, breaks]) => `WHEN ${breaks} THEN ${literal(name)}`)
    .join(" ")} END`;
}

/**
 * Adds bars that break a rule to the rejects.
 *
 * @param from a table expression: the columns of a bar, `region`, `rule` (from {@link brokenRuleSql}), `source`, `line`.
 */
export async function rejectBroken(rejects: Rejects, of: BarRules, from: string): Promise<void> {
  const reason = rules(of)
    .map(([, breaks, text]) => `WHEN ${breaks} THEN ${text}`)
    .join(" ");
  await rejects.add(of.table.name, rejectSql("rule", `CASE ${reason} END`, from));
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
