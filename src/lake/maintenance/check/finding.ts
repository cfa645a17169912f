/**
 * `info`: nothing needs to be done. `warning`: queries still return right results. `error`: queries may return wrong
 * results, or fail.
 */
export type Severity = "error" | "warning" | "info";

type FindingRule =
  | "log_entry_missing"
  | "log_entry_unreadable"
  | "log_not_understood"
  | "log_begins_late"
  | "log_schema"
  | "checkpoint_unreadable"
  | "checkpoint_differs"
  | "last_checkpoint"
  | "file_missing"
  | "file_size"
  | "file_content"
  | "file_unreadable"
  | "file_unknown"
  | "partition_value"
  | "partition_rows"
  | "statistics_absent"
  | "statistics_unreadable"
  | "statistics_wrong"
  | "row_count"
  | "columns"
  | "null_in_required"
  | "not_sorted"
  | "duplicate_key"
  | "versions_overlap"
  | "verification_unrecorded"
  | "staged_leftover";

/** Something in a lake's storage that is not as it should be. */
export interface Finding {
  readonly severity: Severity;
  /** Undefined where the finding is about the whole lake. */
  readonly table?: string;
  /** The version of the table, where the finding is about one. */
  readonly version?: number;
  /** Relative to the lake. */
  readonly file?: string;
  readonly rule: FindingRule;
  /** What is wrong; begins with its subject. */
  readonly message: string;
  readonly hint: string;
}

/** What to do about a lost or damaged file: the lake has no other copy of it. */
export const RESTORE =
  "restore it from a backup; barlake repair takes it from a copy of the lake, or out of the table and has its rows requested again";

/** What to do about an intact file that is not as this program writes files. */
export const FOREIGN =
  "barlake writes no such file: correct it with the program that did (barlake history shows which)";

/** What to do about a wrong statement about a file in the log. */
export const RESTORE_LOG = "restore the table's _delta_log from a backup";
