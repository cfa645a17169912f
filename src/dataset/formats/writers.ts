import type { BlockOptions } from "../panel/block.js";
import { BLOCKS } from "../panel/lake-panel.js";
import type { DatasetFormat, DatasetSpec } from "../spec.js";
import type { DatasetWriter, WriterPlace } from "./dataset-writer.js";
import { leanWriter } from "./lean.js";
import { longArrowWriter, longParquetWriter } from "./long.js";
import { qlibWriter } from "./qlib.js";
import { csvWriter, symbolParquetWriter } from "./symbol-files.js";
import { wideArrowWriter, wideParquetWriter } from "./wide.js";

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
  lean: leanWriter,
};

const MB = 2 ** 20;

/**
 * The blocks that the writer of a format gets. qlib's files have 32-bit floats, and are written by a thread. A file of
 * `long-parquet` has the symbols of a block, and remains when days are appended; several blocks are read together, as the
 * fewer queries there are, the fewer row groups of the lake are read more than once.
 */
export function blocksFor({ format }: DatasetSpec): BlockOptions {
  if (format === "qlib") return { ...BLOCKS, bytes: 80 * MB, bits: 32, valid: 2 };
  if (format === "long-parquet") return { ...BLOCKS, parts: "stable", bytes: 96 * MB, readBytes: 160 * MB };
  return BLOCKS;
}
