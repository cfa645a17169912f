/** Options of every way to show a result. */
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

/** One row: each value is shown large, under the name of its column. */
export interface FiguresView extends Shown {
  readonly kind: "figures";
}
