import type { FindingReport } from "../../quality/quality-data.js";

const DAY_MS = 86_400_000;
/** Number of days after a finding that its chart shows, by period. */
const DAYS_AFTER = { "1d": 90, "5m": 4, "1m": 1 } as const;

/** The period of a finding's chart, and the day after the last day that it shows. */
export function chartWindow({ evidence, last, first }: Pick<FindingReport, "evidence" | "first" | "last">): {
  readonly period: "1d" | "5m" | "1m";
  readonly to: string;
} {
  const period = evidence === "minutes" ? "1m" : evidence === "minute days" ? "5m" : "1d";
  const end = Date.parse(`${last ?? first}T00:00:00Z`) + DAYS_AFTER[period] * DAY_MS;
  return { period, to: new Date(end).toISOString().slice(0, 10) };
}
