import { regionSql, tradeDateSql } from "../../db/market/region-sql.js";
import { type Audit, readAudits } from "../../jobs/maintenance/audit-lake.js";
import type { Severity } from "../../lake/maintenance/check/finding.js";
import type { Evidence, RuleReport } from "./quality-data.js";

export interface QualityRule extends RuleReport {
  /** The query of the findings; undefined for the rules of the ledger. */
  readonly sql: string | undefined;
  readonly evidence: (dataset: string | null) => Evidence;
  /** The table of the findings, for rules without the column `dataset`. */
  readonly dataset: string;
  /** Whether `barlake run --repair` requests the data that a finding lacks. */
  readonly isRepaired: boolean;
  /** Whether earlier versions of the tables contain the data that the rule compares. */
  readonly isVersioned: boolean;
}

/** Rules about minute bars whose findings have no column `dataset`. */
const OF_MINUTES: Readonly<Record<string, Evidence>> = {
  minute_labels: "minutes",
  missing_sessions: "minute days",
  short_days: "minute days",
};
/** Rules about missing data, which `barlake run --repair` requests again. */
const ABOUT_GAPS: ReadonlySet<string> = new Set(["missing_days", "missing_sessions", "short_days"]);
const BY_SEVERITY: readonly Severity[] = ["error", "warning", "info"];

const SET_ASIDE = "set_aside";
/** The names of the rules of the ledger: days of symbols without a response. */
export const NEVER_ASKED = "never_asked";
export const UNEXPLAINED = "unexplained";

const LEDGER: readonly RuleReport[] = [
  {
    name: UNEXPLAINED,
    severity: "warning",
    explanation:
      "Sessions of symbols that were requested, without a bar and without an explanation: the next run requests them again.",
  },
  {
    name: NEVER_ASKED,
    severity: "info",
    explanation:
      "Sessions of symbols that were never requested, although other sessions of the symbol were: a run was missed, or began later.",
  },
];

/** All rules, the worst first: audits, rows that were set aside, and rules of the ledger. */
export function qualityRules(audits: readonly Audit[] = readAudits()): readonly QualityRule[] {
  const rules: readonly QualityRule[] = [...audits.map(ruleOf), setAside(), ...LEDGER.map(ledgerRule)];
  const rank = ({ severity }: QualityRule): number => BY_SEVERITY.indexOf(severity);
  return [...rules].sort((a, b) => rank(a) - rank(b));
}

function ruleOf({ name, severity, explanation, sql }: Audit): QualityRule {
  const ofMinutes = OF_MINUTES[name];
  return {
    name,
    severity,
    explanation,
    sql,
    dataset: ofMinutes === undefined ? "bars_1d" : "bars_1m",
    evidence: (dataset) => ofMinutes ?? evidenceOf(dataset),
    isRepaired: ABOUT_GAPS.has(name),
    isVersioned: true,
  };
}

function setAside(): QualityRule {
  return {
    name: SET_ASIDE,
    severity: "warning",
    explanation:
      "Rows that were delivered and did not land, with the rule that each broke. The column row has what was delivered.",
    // An invalid time is one of the reasons for which rows are set aside.
    sql: `SELECT dataset, rule, reason, symbol, ${deliveredDate('"timestamp"')} AS trade_date,
        "timestamp" AS delivered_time, coalesce(bars, 1) AS bars, source, line, left(CAST("row" AS VARCHAR), 400) AS "row", run_id
      FROM rejects`,
    dataset: "bars_1d",
    evidence: (dataset) => (dataset === "bars_1m" ? "minute days" : evidenceOf(dataset)),
    isRepaired: false,
    isVersioned: false,
  };
}

/** The trading date of a delivered time: of an instant, in the exchange's zone; else the date as it is written. */
function deliveredDate(text: string): string {
  const region = regionSql("symbol");
  const written = `TRY_CAST(left(${text}, 10) AS DATE)`;
  const ofInstant = tradeDateSql(`TRY_CAST(${text} AS TIMESTAMPTZ)`, region);
  return `CASE WHEN regexp_matches(${text}, ':.*([+-][0-9]{2}(:?[0-9]{2})?|Z)$') THEN coalesce(${ofInstant}, ${written}) ELSE ${written} END`;
}

function ledgerRule(rule: RuleReport): QualityRule {
  return {
    ...rule,
    sql: undefined,
    dataset: "bars_1d",
    evidence: (dataset) => (dataset === "bars_1m" ? "minute days" : "days"),
    isRepaired: true,
    isVersioned: false,
  };
}

function evidenceOf(dataset: string | null): Evidence {
  if (dataset === "bars_1d") return "days";
  return dataset === "bars_1m" ? "minutes" : "none";
}
