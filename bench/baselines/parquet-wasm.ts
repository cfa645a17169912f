import { writeFileSync } from "node:fs";
import { type RecordBatch, RecordBatchStreamWriter } from "apache-arrow";
import { Compression, writeParquet as encode, Table, WriterPropertiesBuilder } from "parquet-wasm";

/** Writes a record batch as zstd Parquet with parquet-wasm, as in its documentation; row groups as in the lake. */
export function writeParquet(batch: RecordBatch, file: string): void {
  const properties = new WriterPropertiesBuilder()
    .setCompression(Compression.ZSTD)
    .setMaxRowGroupSize(122_880)
    .build();
  const table = Table.fromIPCStream(RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true));
  writeFileSync(file, encode(table, properties));
}
