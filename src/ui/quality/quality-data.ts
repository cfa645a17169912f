import type { Severity } from "../../lake/maintenance/check/finding.js";

/* The JSON of the view Data quality. Days are `YYYY-MM-DD` in the exchange's zone. */

export type Evidence =
  /** Daily bars. */
  | "days"
  /** Minute bars around an instant. */
  | "minutes"
  /** Numbers of minute bars by day. */
  | "minute days"
  /** No bars: the values of the finding are sufficient. */
  | "none";

export interface RuleReport {
  readonly name: string;
  readonly severity: Severity;
  /** What a finding means, and what to do about it, in English. */
  readonly explanation: string;
}

export interface RulesReport {
  readonly rules: readonly RuleReport[];
  /** The command that checks all rules without a time limit. */
  readonly command: string;
  readonly damage: string;
}

export interface RegionCount {
  /** Null where a symbol's exchange is not known. */
  readonly region: string | null;
  readonly findings: number;
  /** Number of symbols, or of dates for rules about a whole region. */
  readonly subjects: number;
  readonly first: string | null;
  readonly last: string | null;
}

/** Why a rule was not checked: the bars were imported, or the state is of the past. */
export type UnknownReason = "imported" | "past";

export interface RuleCount {
  readonly counts: readonly RegionCount[];
  /** Null where the rule was checked. */
  readonly unknown: UnknownReason | null;
}

export interface SubjectReport {
  readonly subject: string;
  readonly region: string | null;
  readonly findings: number;
  readonly first: string | null;
  readonly last: string | null;
}

export interface ListPage<T> {
  readonly rows: readonly T[];
  readonly total: number;
  /** Number of the page, from 1. */
  readonly page: number;
  /** Number of pages that can be opened. Rows after them are found with a narrower filter. */
  readonly pages: number;
  /** Why the rule was not checked; absent where it was. */
  readonly unknown?: UnknownReason | undefined;
}

export type CellValue = string | number | boolean | null;

export interface ColumnReport {
  readonly name: string;
  readonly unit: string | null;
}

export interface FindingReport {
  readonly values: readonly CellValue[];
  readonly dataset: string | null;
  readonly evidence: Evidence;
  readonly first: string | null;
  readonly last: string | null;
  /** Label of the bar, ISO 8601 in UTC, if the finding is about one minute bar; else null. */
  readonly at: string | null;
  /** A command that repairs the finding; null where there is none. */
  readonly repairs: string | null;
  readonly explains: string;
}

export interface FindingsReport extends ListPage<FindingReport> {
  readonly columns: readonly ColumnReport[];
}

export interface EvidenceReport {
  readonly columns: readonly ColumnReport[];
  readonly rows: readonly {
    readonly values: readonly CellValue[];
    readonly isInQuestion: boolean;
    /** Its time on the axis of the chart: seconds of the exchange's local time; for days, of midnight of the date. */
    readonly time: number;
  }[];
  readonly hasMore: boolean;
}

export const PAGE_ROWS = 100;
/** Most pages that can be opened. Rows after them are found with a narrower filter. */
export const MOST_PAGES = 50;

/** The number of rows before a page, which is counted from 1. Page numbers that are too large mean the last page. */
export function offsetOf(page: number): number {
  return (Math.min(Math.max(1, Math.trunc(page) || 1), MOST_PAGES) - 1) * PAGE_ROWS;
}

/** A page of a list, or the last page where the list has fewer. @param read reads a page */
export async function pageWithin<L extends ListPage<unknown>>(
  page: number,
  read: (page: number) => L | Promise<L>,
): Promise<L> {
  const found = await read(page);
  if (found.rows.length > 0 || found.page === 1) return found;
  const first = await read(1);
  return first.pages === 1 ? first : read(first.pages);
}

/** A page with its position in the list. @param total number of rows of the whole list */
export function listPage<T>(rows: readonly T[], total: number, page: number): ListPage<T> {
  const pages = Math.min(MOST_PAGES, Math.max(1, Math.ceil(total / PAGE_ROWS)));
  return { rows, total, page: offsetOf(page) / PAGE_ROWS + 1, pages };
}
