import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { batchesToIpc } from "../../arrow/batches-ipc.js";
import { dateOfEpochDay } from "../../core/time.js";
import type { Block, Labels } from "../panel/block.js";
import { blockScans } from "../panel/block-scan.js";
import { PanelSpool, panelBatches, type Slice } from "../panel/panel-batches.js";
import { copyRows, parquetSessions } from "../store/copy-rows.js";
import { type DatasetWriter, sideBySide, type WriterPlace } from "./dataset-writer.js";

/** Files that are written concurrently: one of them often waits for rows, which the main thread hands over. */
const CONCURRENCY = 3;

/**
 * Writes `rows/year=2026/part-0000.parquet`, or for minutes `rows/month=2026-11-01/...`, a folder that contains only
 * Parquet, as readers of folders expect. There is one row per symbol and label from the symbol's first bar to its last,
 * sorted by both within a file; each part has the symbols of a block. A file that an append has kept is not written.
 * Columns: `symbol, trade_date, timestamp`, fields, masks. Missing values are null.
 */
export function longParquetWriter(place: WriterPlace): DatasetWriter {
  const { shape, files } = place;
  const sessions = parquetSessions(place);
  const partitions = partitionsOf(shape.labels);
  const scanOf = blockScans(shape);
  let writing: Promise<void> = Promise.resolve();
  const settle = async (): Promise<void> => {
    const before = writing;
    writing = Promise.resolve();
    await before;
  };
  return {
    async write(block) {
      await settle();
      writing = sideBySide(partitions, CONCURRENCY, async ({ folder, slice }) => {
        const path = partFile(folder, block.index);
        if (files.has(path) || slice.start + slice.width <= block.since) return;
        const rows = scanOf(block, slice);
        if (rows === undefined) return;
        const target = await files.place(path);
        await sessions.use((session) => copyRows(session, rows, target));
        await files.adopt(path);
      });
      writing.catch(() => {});
      // While the files of a block are written, those of the next one may begin, as long as the cells of both are valid.
      if (!block.hasNext) await settle();
    },
    finish: settle,
    async close() {
      await settle().catch(() => {});
      sessions.close();
    },
  };
}

export function partFile(folder: string, block: number): string {
  return `${folder}/part-${String(block).padStart(4, "0")}.parquet`;
}

/** The labels of each partition: a year, or for minutes a month. */
export function partitionsOf({
  count,
  days,
  times,
}: Labels): { readonly folder: string; readonly slice: Slice }[] {
  const folders = Array.from({ length: count }, (_, label) => {
    const date = dateOfEpochDay(days[label] as number);
    return times === undefined ? `rows/year=${date.slice(0, 4)}` : `rows/month=${date.slice(0, 7)}-01`;
  });
  return [...new Set(folders)].map((folder) => {
    const start = folders.indexOf(folder);
    return { folder, slice: { start, width: folders.lastIndexOf(folder) - start + 1 } };
  });
}

/** Writes `rows.arrow`: the same rows in order of time, then symbol, as an Arrow IPC file. */
export function longArrowWriter({ shape, scratch, files }: WriterPlace): DatasetWriter {
  const spool = new PanelSpool(scratch, shape);
  return {
    async write(block: Block) {
      spool.write(block);
    },
    async finish() {
      const target = await files.place("rows.arrow");
      const batches = Readable.from(panelBatches(spool, shape));
      await pipeline(Readable.from(batchesToIpc(batches, "file")), createWriteStream(target));
      await files.adopt("rows.arrow");
    },
    async close() {
      spool.close();
    },
  };
}
