/*
 * What is counted of one run: types alone, shared by the history of runs and the page of the workspace.
 */

/** The requests of a run for one subject, with one result. */
export interface RequestCount {
  readonly dataset: string;
  readonly endpoint: string;
  readonly status: string;
  readonly requests: number;
  readonly attempts: number;
  readonly rows: number;
}

/** The rows of a run that were set aside by one rule. */
export interface RejectCount {
  readonly dataset: string;
  readonly rule: string;
  readonly rows: number;
  /** The reason of one of them. */
  readonly example: string;
}
