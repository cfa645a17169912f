/*
 * What the view Data quality receives as JSON: types alone, shared by the server and the page. Days are `YYYY-MM-DD` of
 * the exchange's own calendar.
 */
import type { Severity } from "../../lake/maintenance/check/finding.js";

/** Where the bars of a finding are: which table of bars, and what of it is compared. */
export type Evidence =
  /** Bars of days. */
  | "days"
  /** Bars of minutes around an instant. */
  | "minutes"
  /** Numbers of minutes by day. */
  | "minute days"
  /** The finding is about no bar: its values say everything. */
  | "none";

/** A rule that the rows of a lake are compared with. */
export interface RuleReport {
  readonly name: string;
  readonly severity: Severity;
  /** What a finding means, and what to do about it, in English. */
  readonly explanation: string;
}

/** The rules, worst first. */
export interface RulesReport {
  readonly rules: readonly RuleReport[];
  /** The command that runs all of them without a limit of time. */
  readonly command: string;
  /** The command that finds damaged files, which no rule does. */
  readonly damage: string;
}

/** Findings of a rule in one region. */
export interface RegionCount {
  /** Null where a symbol's exchange is not known. */
  readonly region: string | null;
  readonly findings: number;
  /** Symbols; dates for rules about a whole region. */
  readonly subjects: number;
  readonly first: string | null;
  readonly last: string | null;
}

/** Why a rule has no result: the bars were imported; the state is of the past. */
export type UnknownReason = "imported" | "past";

/** What a rule has found. */
export interface RuleCount {
  readonly counts: readonly RegionCount[];
  /** Null where the rule was compared. */
  readonly unknown: UnknownReason | null;
}

/** The findings about one symbol, or about a region as a whole. */
export interface SubjectReport {
  readonly subject: string;
  readonly region: string | null;
  readonly findings: number;
  readonly first: string | null;
  readonly last: string | null;
}

/** A page of a list. */
export interface ListPage<T> {
  readonly rows: readonly T[];
  readonly total: number;
  /** From 1. */
  readonly page: number;
  /** Pages that can be opened; further rows are found by a narrower filter. */
  readonly pages: number;
  /** Why nothing is known of the list; absent where it is known. */
  readonly unknown?: UnknownReason | undefined;
}

/** A value of a table of the page. */
export type CellValue = string | number | boolean | null;

/** A column of a table of the page. */
export interface ColumnReport {
  readonly name: string;
  readonly unit: string | null;
}

/** A finding, and which bars it is about. */
export interface FindingReport {
  readonly values: readonly CellValue[];
  readonly dataset: string | null;
  readonly evidence: Evidence;
  readonly first: string | null;
  readonly last: string | null;
  /** Label of the bar, ISO 8601 in UTC, where the finding is about one bar of minutes. */
  readonly at: string | null;
  /** A command that repairs it; null where none does. */
  readonly repairs: string | null;
  /** A command that shows more. */
  readonly explains: string;
}

/** The findings about one subject. */
export interface FindingsReport extends ListPage<FindingReport> {
  readonly columns: readonly ColumnReport[];
}

/** The bars around a finding. */
export interface EvidenceReport {
  readonly columns: readonly ColumnReport[];
  readonly rows: readonly {
    readonly values: readonly CellValue[];
    /** Whether the finding is about it. */
    readonly isInQuestion: boolean;
    /** Its place on the chart's axis of time: seconds of the exchange's own clock, of days those of the date. */
    readonly time: number;
  }[];
  /** Whether there are more bars in question than are listed. */
  readonly hasMore: boolean;
}
