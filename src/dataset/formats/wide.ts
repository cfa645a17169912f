import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RecordBatch } from "apache-arrow";
import { batchesToIpc } from "../../arrow/batches-ipc.js";
import { type BatchColumn, columnBatch } from "../../arrow/column-batch.js";
import { UsageError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import { PanelSpool, type Slice, slicesOf } from "../panel/panel-batches.js";
import { parquetOptions } from "../store/copy-rows.js";
import { type DatasetWriter, sideBySide, type WriterPlace } from "./dataset-writer.js";

interface Matrix {
  readonly path: string;
  readonly cellBytes: number;
  readonly read: (slice: Slice) => Float64Array | Uint8Array;
}

/** Largest matrix that is written in one piece (bytes). */
const MOST_BYTES = 2 ** 30;

/**
 * Writes `fields/<field>.parquet` and `masks/<mask>.parquet`: one row per label, with `trade_date` or `timestamp`
 * first, then one column per symbol, in their order. Missing values are NaN. @throws {UsageError} for a matrix that is
 * too large to be written and read in one piece.
 */
export function wideParquetWriter(place: WriterPlace): DatasetWriter {
  const { shape, session, files, spec } = place;
  const bytes = shape.symbols.length * shape.labels.count * 8;
  if (bytes > MOST_BYTES)
    throw new UsageError(
      `dataset ${spec.name}: a field would have ${Math.ceil(bytes / 2 ** 20)} MB in one piece`,
      {
        hint: "choose wide-arrow or long-parquet, fewer symbols, or a shorter window",
      },
    );
  const whole = { start: 0, width: shape.labels.count };
  const writer = wideWriter(place, "parquet", async ({ read, path }) => {
    using connection = await session.sibling();
    const target = await files.place(path);
    await connection.withBatch(matrixBatch(place, read(whole), whole), (rows) =>
      connection.run(
        `COPY (SELECT ${labelSql(place)} FROM ${rows}) TO ${literal(target)} (${parquetOptions(1)})`,
      ),
    );
  });
  return {
    ...writer,
    async finish() {
      // All cells are read. Each matrix is the work of one thread; others would only ask for work.
      await session.run("SET threads = 1");
      await writer.finish();
    },
  };
}

/** Writes the same as Arrow IPC files, each record batch with as many labels as fit into memory. */
export function wideArrowWriter(place: WriterPlace): DatasetWriter {
  return wideWriter(place, "arrow", async ({ read, path, cellBytes }) => {
    const batches = async function* (): AsyncGenerator<RecordBatch> {
      for (const slice of slicesOf(place.shape, cellBytes)) yield matrixBatch(place, read(slice), slice);
    };
    const target = await place.files.place(path);
    await pipeline(Readable.from(batchesToIpc(batches(), "file")), createWriteStream(target));
  });
}

/** Matrices that are written concurrently. Each takes memory for all of its columns. */
const CONCURRENCY = 2;

function wideWriter(
  { scratch, shape, files }: WriterPlace,
  ending: string,
  writeMatrix: (matrix: Matrix) => Promise<void>,
): DatasetWriter {
  const spool = new PanelSpool(scratch, shape);
  const matrices: Matrix[] = [
    ...shape.fields.map(({ name }, f) => ({
      path: `fields/${name}.${ending}`,
      cellBytes: 8,
      read: (slice: Slice) => spool.field(f, slice),
    })),
    ...shape.masks.map((name, m) => ({
      path: `masks/${name}.${ending}`,
      cellBytes: 1,
      read: (slice: Slice) => spool.mask(m, slice),
    })),
  ];
  return {
    async write(block) {
      spool.write(block);
    },
    async finish() {
      await sideBySide(matrices, CONCURRENCY, async (matrix) => {
        await writeMatrix(matrix);
        await files.adopt(matrix.path);
      });
    },
    async close() {
      spool.close();
    },
  };
}

function matrixBatch(
  { shape }: WriterPlace,
  cells: Float64Array | Uint8Array,
  { start, width }: Slice,
): RecordBatch {
  const { days, times } = shape.labels;
  const label: BatchColumn =
    times === undefined
      ? { name: "trade_date", kind: "date", values: days.slice(start, start + width) }
      : {
          name: "timestamp",
          kind: "milliseconds",
          values: BigInt64Array.from(times.subarray(start, start + width), BigInt),
        };
  const columns = shape.symbols.map(({ symbol }, s): BatchColumn => {
    const [from, to] = [s * width, (s + 1) * width];
    return cells instanceof Float64Array
      ? { name: symbol, kind: "double", values: cells.subarray(from, to) }
      : { name: symbol, kind: "boolean", values: cells.subarray(from, to) };
  });
  return columnBatch([label, ...columns], width);
}

/** The SQL of a label for Parquet: times are in UTC, in microseconds. */
function labelSql({ shape }: WriterPlace): string {
  return shape.labels.times === undefined
    ? "*"
    : `* REPLACE (CAST("timestamp" AS TIMESTAMPTZ) AS "timestamp")`;
}
