import type { DatasetFormat } from "../src/dataset/spec.js";

/** Columns of the datasets that are compared. */
export const FIELDS = ["open", "high", "low", "close", "volume", "amount", "vwap", "factor"] as const;

/** What is written: qlib's files, a file a symbol and field; and matrices, a Parquet file a field. */
export const LAYOUTS = { qlib: "qlib", wide: "wide-parquet" } as const satisfies Record<
  string,
  DatasetFormat
>;
export type Layout = keyof typeof LAYOUTS;

/** What the program is told that builds one of them. */
export interface DatasetOrder {
  /** The lake's. */
  readonly folder: string;
  readonly layout: Layout;
  readonly output: string;
  readonly by: "barlake" | "row objects";
}
