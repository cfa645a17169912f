/** What every way of showing a result may say. */
export interface Shown {
  /** Heading over what is shown. */
  readonly title: string | undefined;
  /** Columns whose ratios are shown as percentages. */
  readonly percent: readonly string[];
  /** What stands in the place of a result without rows. */
  readonly empty: string | undefined;
}

/** A table of the first rows. */
export interface TableView extends Shown {
  readonly kind: "table";
  /** Most rows that are shown. */
  readonly rows: number;
}

/** One row, each value large, under the name of its column. */
export interface FiguresView extends Shown {
  readonly kind: "figures";
}
