/* Counts of one run. This file contains only types, which the history of runs and the page of the workspace share. */
import type { RequestStatus } from "../../../schema/runs.js";

export interface RequestCount {
  readonly dataset: string;
  readonly endpoint: string;
  readonly status: RequestStatus;
  readonly requests: number;
  readonly attempts: number;
  readonly rows: number;
}

/** The rows of a run that were set aside by one rule. */
export interface RejectCount {
  readonly dataset: string;
  readonly rule: string;
  readonly rows: number;
  /** The reason of one of these rows, as an example. */
  readonly example: string;
}
