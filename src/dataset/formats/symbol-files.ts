import { partOf } from "../panel/block.js";
import { blockScans } from "../panel/block-scan.js";
import { copyRows } from "../store/files/copy-rows.js";
import type { NewFile } from "../store/files/file-thread.js";
import { parquetSessions } from "../store/files/parquet-sessions.js";
import { csvProfile } from "./csv-profiles.js";
import type { DatasetWriter, WriterPlace } from "./dataset-writer.js";
import { sideBySide } from "./side-by-side.js";

/** Files that are written by the thread while the texts of the next ones are made. */
const FILES_AT_A_TIME = 8;

/** Files of Parquet that are written concurrently. */
const CONCURRENCY = 2;

/**
 * Writes one CSV file per symbol in the layout of the spec's format, with a row for every label from its first bar to
 * its last: see {@link csvProfile}. Numbers are the shortest texts that read back to the same doubles.
 */
export function csvWriter(place: WriterPlace): DatasetWriter {
  const profile = csvProfile(place);
  return {
    async write(block) {
      let files: NewFile[] = [];
      for (const [s, { symbol }] of block.symbols.entries()) {
        const [first, last] = [block.first[s] as number, block.last[s] as number];
        if (first < 0) continue;
        const cell = await profile.open(block, s);
        let text = profile.header;
        for (let label = first; label <= last; label++) text += cell(label);
        files.push({ path: `${profile.folder}${profile.nameOf(symbol)}.csv`, content: text });
        if (files.length < FILES_AT_A_TIME) continue;
        await place.files.putAll(files);
        files = [];
      }
      await place.files.putAll(files);
    },
    async finish() {
      profile.finish?.();
    },
  };
}

/** Writes one Parquet file per symbol, `<symbol>.parquet`, with the columns of the long format. */
export function symbolParquetWriter(place: WriterPlace): DatasetWriter {
  const { files, shape } = place;
  const sessions = parquetSessions(place);
  const all = { start: 0, width: shape.labels.count };
  const scanOf = blockScans(shape);
  return {
    async write(block) {
      await sideBySide(block.symbols.keys(), CONCURRENCY, async (s) => {
        const rows = scanOf(partOf(block, s, 1), all);
        if (rows === undefined) return;
        const path = `${block.symbols[s]?.symbol}.parquet`;
        const target = await files.place(path);
        await sessions.use((session) => copyRows(session, rows, target));
        await files.adopt(path);
      });
    },
    async finish() {},
    async close() {
      sessions.close();
    },
  };
}
