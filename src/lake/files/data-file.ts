import { randomBytes } from "node:crypto";
import { LakeError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import type { TableSchema } from "../../schema/column.js";
import { readRangeOf } from "../local/local-files.js";
import type { LakePlaces } from "../local/work-folder.js";
import type { AddFile } from "../log/delta-actions.js";
import { encodePath, type Snapshot } from "../log/snapshot.js";
import type { Storage } from "../storage/storage.js";
import { CODEC_KEY, CODEC_SQL, codecOfTable, LANDED_SQL } from "./codec.js";
import { FOOTER_TAG, footerDigest } from "./footer-digest.js";
import { type ScanLayout, writeScannedRows, writeSortedRows } from "./parquet/write-rows.js";

/** The first letter of a file's name, by the purpose of the file. */
const LETTERS = { landed: "p", compacted: "c" } as const;

const OWN_NAME = /(?:^|\/)([pc])-([0-9a-f]{16})-[0-9a-f]{8}\.parquet$/;

type PartitionValues = Readonly<Record<string, string>>;

/** How a data file is written. */
export interface DataFileOptions {
  /** The purpose of the file: to land rows, or to store compacted rows. */
  readonly as: keyof typeof LETTERS;
  /** Epoch milliseconds. */
  readonly now: number;
  /**
   * For rows that come from a scan in the table's order: they are not sorted again, and several threads read them within
   * {@link Session.inAnyOrder}. @default the rows are sorted
   */
  readonly layout?: ScanLayout | undefined;
}

/**
 * Writes the rows of a query as one sorted, compressed Parquet file of the table, durably. Readers do not see the file
 * until a commit adds it.
 *
 * @param rowsSql a SELECT of all the table's columns; its rows are of one partition.
 * @throws {LakeError} where the file cannot be written.
 */
export async function writeDataFile(
  session: Session,
  { storage, work }: LakePlaces,
  snapshot: Pick<Snapshot, "table" | "columns" | "metaData">,
  rowsSql: string,
  partitionValues: PartitionValues,
  { as, now, layout }: DataFileOptions,
): Promise<AddFile> {
  const { table } = snapshot;
  const columns = snapshot.columns.filter((column) => !table.partition.includes(column.name));
  const codec = as === "compacted" ? codecOfTable(snapshot) : undefined;
  const encoding = codec === undefined ? LANDED_SQL : CODEC_SQL[codec];
  const staged = await work.newFile("parquet");
  try {
    const rows = { sql: rowsSql, columns, sort: table.sort, stats: table.stats, encoding };
    const { content, stats } =
      (layout && (await writeScannedRows(session, work, rows, layout, staged))) ??
      (await writeSortedRows(session, rows, staged));
    const { hash, sha256, bytes: size } = content;
    const tags = {
      [FOOTER_TAG]: await footerDigest((range) => readRangeOf(staged, range)),
      ...(codec === undefined ? {} : { [CODEC_KEY]: codec }),
    };
    const folder = table.partition
      .map((name) => `${name}=${encodeURIComponent(partitionValues[name] ?? "")}`)
      .join("/");
    const path = `${folder}/${LETTERS[as]}-${hash}-${randomBytes(4).toString("hex")}.parquet`;
    const isNew = await storage.putFileIfAbsent(staged, `${table.name}/${path}`, sha256);
    if (!isNew)
      throw new LakeError(`table ${table.name}: ${path} is there already, and a name is never used again`);
    return {
      path: encodePath(path),
      partitionValues,
      size,
      modificationTime: now,
      dataChange: true,
      stats: JSON.stringify(stats),
      tags,
    };
  } finally {
    await work.discard(staged);
  }
}

/** The hash in the name of a file that this program wrote; undefined for other writers' files. */
export function hashInName(path: string): string | undefined {
  return OWN_NAME.exec(path)?.[2];
}

/** Whether a file's name says that a compaction by this program wrote it. */
export function isCompacted(path: string): boolean {
  return OWN_NAME.exec(path)?.[1] === LETTERS.compacted;
}

/** Deletes data files that were written for a commit that was not made. */
export async function deleteDataFiles(
  storage: Storage,
  table: TableSchema,
  files: readonly AddFile[],
): Promise<void> {
  for (const file of files) await storage.delete(`${table.name}/${decodeURIComponent(file.path)}`);
}
