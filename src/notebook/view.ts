/** Options that all views of a result have. */
export interface Shown {
  /** Heading of the result. */
  readonly title: string | undefined;
  /** Columns whose ratios are shown as percentages. */
  readonly percent: readonly string[];
  /** Text that is shown instead of a result without rows. */
  readonly empty: string | undefined;
}

/** A table of the first rows. */
export interface TableView extends Shown {
  readonly kind: "table";
  /** Most rows to show. */
  readonly rows: number;
}

/** One row, of which each value is shown in large type under the name of its column. */
export interface FiguresView extends Shown {
  readonly kind: "figures";
}
