import type { DatasetFormat } from "../../src/dataset/spec.js";

/** Columns of the compared datasets. */
export const FIELDS = ["open", "high", "low", "close", "volume", "amount", "vwap", "factor"] as const;

/** The formats: qlib's files, one per symbol and field; and matrices, one Parquet file per field. */
export const LAYOUTS = { qlib: "qlib", wide: "wide-parquet" } as const satisfies Record<
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
}
