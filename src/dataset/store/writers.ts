import { longArrowWriter, longParquetWriter } from "../formats/long.js";
import { qlibWriter } from "../formats/qlib.js";
import { csvWriter, symbolParquetWriter } from "../formats/symbol-files.js";
import { wideArrowWriter, wideParquetWriter } from "../formats/wide.js";
import type { DatasetFormat } from "../spec.js";
import type { DatasetWriter, WriterPlace } from "./dataset-writer.js";

/** The writer of each format. */
export const WRITERS: Readonly<Record<DatasetFormat, (place: WriterPlace) => DatasetWriter>> = {
  qlib: qlibWriter,
  "wide-parquet": wideParquetWriter,
  "wide-arrow": wideArrowWriter,
  "long-parquet": longParquetWriter,
  "long-arrow": longArrowWriter,
  "symbol-csv": csvWriter,
  "symbol-parquet": symbolParquetWriter,
  backtrader: csvWriter,
  "zipline-csvdir": csvWriter,
};
