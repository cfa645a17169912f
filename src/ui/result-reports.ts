/** A result that the workspace stores for some time, so that the page can scroll and export it. */
export interface StoredReport {
  readonly id: string;
  readonly rows: number;
}

/**
 * A result; without an id, one that needs more space than its run had left: only the rows in the page are available.
 */
export type ResultReport =
  | StoredReport
  | { readonly id: null; readonly rows: number; readonly mostBytes: number };

/** A range of rows of a result, as texts. */
export interface RowsReport {
  /** Offset of the first row. */
  readonly from: number;
  /** Number of rows of the whole result. */
  readonly rows: number;
  readonly columns: readonly (readonly (string | null)[])[];
}
