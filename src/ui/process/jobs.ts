import { BarlakeError, messageOf, QueryError, UsageError } from "../../core/errors.js";
import type { DatasetSpec } from "../../dataset/spec.js";
import type { PlainValue, ResultColumn } from "../../db/result/row-reader.js";
import type { QueryValues } from "../../db/session/named-values.js";
import type { StorePatience } from "../../db/session/store-access.js";
import type { VerifiedFiles } from "../../lake/files/verify-content.js";
import type { PointInTime } from "../../lake/lake.js";
import type { Notebook } from "../../notebook/notebook.js";
import type { SessionLimits } from "../session/session-limits.js";

interface ErrorData {
  readonly kind: "usage" | "query" | "barlake" | "other";
  readonly message: string;
  readonly hint: string | undefined;
}

/** Most characters of a message: SQL can make an error of any length. */
const MOST_MESSAGE = 10_000;

export function errorData(error: unknown): ErrorData {
  const message = messageOf(error).slice(0, MOST_MESSAGE);
  if (!(error instanceof BarlakeError)) return { kind: "other", message, hint: undefined };
  const kind = error instanceof UsageError ? "usage" : error instanceof QueryError ? "query" : "barlake";
  return { kind, message, hint: error.hint?.slice(0, MOST_MESSAGE) };
}

export function errorOf({ kind, message, hint }: ErrorData): Error {
  if (kind === "usage") return new UsageError(message, { hint });
  if (kind === "query") return new QueryError(message, "", { hint });
  return kind === "barlake" ? new BarlakeError(message, { hint }) : new Error(message);
}

/**
 * Most characters of a text that a page gets in one piece: a line of a run, or rows of a result. The workspace has such
 * a text in memory several times while it sends it, and no browser shows a larger one well.
 */
export const MOST_TEXT = 32 * 2 ** 20;

export const EXPORT_FORMATS = ["csv", "parquet", "arrow"] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/*
 * What the workspace and its processes send each other: plain data, which Node copies. A process has one job at a time.
 */

/** The folders and limits of a process. It gets them before its first job. */
export interface ProcessSetting {
  readonly results: string;
  /** Folder of the results that this process stores. The workspace moves them, and deletes the folder with the process. */
  readonly ownResults: string;
  readonly spill: string;
  readonly limits: Required<SessionLimits>;
  /** The versions that the first job probably reads; undefined where nothing is known about it. */
  readonly lake: ShownLake | undefined;
  /** How long failed requests to a lake in a store are repeated. */
  readonly patience: StorePatience | undefined;
  readonly verified: VerifiedFiles;
}

export interface ShownLake {
  readonly location: string;
  /** Folder of the user's own views; undefined: there are only those of the lake. */
  readonly views: string | undefined;
  readonly pointInTime: PointInTime;
}

interface NotebookJob {
  readonly lake: ShownLake;
  readonly notebook: Notebook;
  readonly given: ReadonlyMap<string, string>;
}

/** Runs a notebook. A piece is a line of its output, without the line break. */
export interface RunJob extends NotebookJob {
  readonly kind: "run";
  /** Numbers of the lines on which the requested cells begin; undefined: every cell. */
  readonly requested: readonly number[] | undefined;
}

/** Makes the page of a notebook, whose text comes in pieces. */
export interface PageJob extends NotebookJob {
  readonly kind: "page";
  /** The instant that was requested for the lake, in epoch milliseconds; undefined: its newest version. */
  readonly asOf: number | undefined;
  /** When the page is made, in epoch milliseconds. */
  readonly madeAt: number;
}

/** Runs one SELECT over the views of a lake, and no other statement. The only piece is the JSON of a {@link QueryAnswer}. */
export interface QueryJob {
  readonly kind: "query";
  readonly lake: ShownLake;
  readonly sql: string;
  /** Of the parameters `$name`. */
  readonly values: QueryValues;
  readonly mostRows: number;
  /** Most bytes of the columns and rows as JSON. */
  readonly mostBytes: number;
}

export interface QueryAnswer {
  readonly columns: readonly ResultColumn[];
  /** int64 and decimals are numbers where these have all digits; dates, times, lists and structs are DuckDB's text. */
  readonly rows: readonly (readonly PlainValue[])[];
  readonly isCut: boolean;
}

/** Describes a dataset. The only piece is the JSON of a `DatasetPlan`. */
export interface PlanJob {
  readonly kind: "plan";
  readonly lake: ShownLake;
  readonly spec: DatasetSpec;
}

/** Reads rows of a stored result; the only piece is the JSON of a `RowsReport`. */
export interface RowsJob extends RowsChoice {
  readonly kind: "rows";
  readonly id: string;
  readonly rows: number;
  readonly from: number;
  readonly count: number;
}

/** Which rows of a result a page shows, and in which order. */
export interface RowsChoice {
  /** Index of the column by which they are ordered, nulls last; undefined: as the statement gave them. */
  readonly column?: number | undefined;
  readonly isDescending?: boolean | undefined;
  /** A text that one of their values contains, as a CSV file has it, in any case; undefined: all rows. */
  readonly contains?: string | undefined;
}

export interface ExportJob {
  readonly kind: "export";
  readonly id: string;
  readonly format: ExportFormat;
  readonly file: string;
}

export interface JobStart {
  readonly verified: VerifiedFiles;
  /** Most bytes of the results that the job may store. */
  readonly resultBytes: number;
}

export type Job = RunJob | PageJob | QueryJob | PlanJob | RowsJob | ExportJob;

export interface StoredResult {
  readonly id: string;
  readonly rows: number;
  readonly bytes: number;
}

export type JobNote =
  /** The cell that begins on this line of the file is run now. */
  | { readonly kind: "cell"; readonly line: number }
  | { readonly kind: "stored"; readonly result: StoredResult }
  /** These files of the lake were verified. */
  | { readonly kind: "verified"; readonly files: VerifiedFiles };

export type ToProcess =
  | { readonly kind: "setting"; readonly setting: ProcessSetting }
  | { readonly kind: "job"; readonly job: Job; readonly start: JobStart }
  /** The last piece was taken: the next one may follow. */
  | { readonly kind: "taken" };

export type FromProcess =
  /** The process has the job. This is its first message. */
  | { readonly kind: "begun" }
  | { readonly kind: "piece"; readonly text: string }
  | { readonly kind: "note"; readonly note: JobNote }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly error: ErrorData };
