import type { DatasetFormat } from "../../src/dataset/spec.js";

/** Columns of the compared datasets. */
export const FIELDS = ["open", "high", "low", "close", "volume", "amount", "vwap", "factor"] as const;

/**
 * The formats: qlib's files, one per symbol and field; matrices, one Parquet file per field; rows, in Parquet files by
 * year.
 */
export const LAYOUTS = { qlib: "qlib", wide: "wide-parquet", long: "long-parquet" } as const satisfies Record<
  string,
  DatasetFormat
>;
export type Layout = keyof typeof LAYOUTS;

/** The order for the program that builds a dataset. */
export interface DatasetOrder {
  /** Folder of the lake. */
  readonly folder: string;
  readonly layout: Layout;
  readonly output: string;
  readonly by: "barlake" | "row objects";
  /** Versions of tables of the lake, where not the newest are read. */
  readonly versions?: Readonly<Record<string, number>>;
  /** Whether days are appended to the dataset that is there. */
  readonly append?: boolean;
}
