import { randomBytes } from "node:crypto";
import { LakeError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { Column, ColumnType, TableSchema } from "../../schema/column.js";
import { readPieces, readRangeOf } from "../local/local-files.js";
import type { LakePlaces } from "../local/work-folder.js";
import type { AddFile, FileStats } from "../log/delta-actions.js";
import { encodePath, type Snapshot } from "../log/snapshot.js";
import type { Storage } from "../storage/storage.js";
import { CODEC_KEY, CODEC_SQL, codecOfTable, LANDED_SQL } from "./codec.js";
import { contentHash } from "./content-hash.js";
import { FOOTER_TAG, footerDigest } from "./footer-digest.js";
import { orderRowGroups } from "./order-row-groups.js";

/** Rows of a row group, a multiple of DuckDB's vector size. A symbol's month of minute bars is in one or two groups. */
export const ROW_GROUP_ROWS = 122_880;

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
   * Whether the rows come from a scan in the table's order, {@link ROW_GROUP_ROWS} at a time. They are then not sorted
   * again, and several threads read them within {@link Session.inAnyOrder}. @default false
   */
  readonly inOrder?: boolean;
}

interface CopyStats {
  readonly count: bigint;
  readonly column_statistics: readonly { key: string; value: readonly { key: string; value: string }[] }[];
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
  { as, now, inOrder = false }: DataFileOptions,
): Promise<AddFile> {
  const { table } = snapshot;
  const columns = snapshot.columns.filter((column) => !table.partition.includes(column.name));
  const codec = as === "compacted" ? codecOfTable(snapshot) : undefined;
  const encoding = codec === undefined ? LANDED_SQL : CODEC_SQL[codec];
  const staged = await work.newFile("parquet");
  try {
    const select = `SELECT ${columns.map((c) => ident(c.name)).join(", ")} FROM (${rowsSql})`;
    const written =
      (inOrder ? await copyAsItComes(session, select, staged, encoding, table) : undefined) ??
      (await copy(session, `${select} ORDER BY ${table.sort.map(ident).join(", ")}`, staged, encoding));
    const { hash, sha256, bytes: size } = await contentHash(await readPieces(staged));
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
    const stats = JSON.stringify(fileStats(written, columns, table.stats));
    return {
      path: encodePath(path),
      partitionValues,
      size,
      modificationTime: now,
      dataChange: true,
      stats,
      tags,
    };
  } finally {
    await work.discard(staged);
  }
}

/** Copies rows to a file. The rows are sorted, so the bounds of row groups are more useful than Bloom filters. */
async function copy(session: Session, select: string, file: string, encoding: string): Promise<CopyStats> {
  const [written] = await session.json<CopyStats>(
    `COPY (${select}) TO ${literal(file)} (FORMAT parquet, ${encoding}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, WRITE_BLOOM_FILTER false, RETURN_STATS)`,
  );
  return written as CopyStats;
}

/**
 * Copies a sorted scan: each thread compresses the rows of a row group and writes the group when it is done. The groups
 * may therefore be out of order, and are put in order afterwards.
 *
 * @returns undefined when the file is still not sorted.
 */
async function copyAsItComes(
  session: Session,
  select: string,
  file: string,
  encoding: string,
  table: TableSchema,
): Promise<CopyStats | undefined> {
  const written = await copy(session, select, file, encoding);
  return (await orderRowGroups(session, file, table)) ? written : undefined;
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

function fileStats(written: CopyStats, columns: readonly Column[], requested: readonly string[]): FileStats {
  const minValues: Record<string, string> = {};
  const maxValues: Record<string, string> = {};
  const nullCount: Record<string, number> = {};
  for (const { key, value } of written.column_statistics) {
    const column = columns.find((c) => ident(c.name) === key);
    if (column === undefined || !requested.includes(column.name)) continue;
    const facts = new Map(value.map((fact) => [fact.key, fact.value]));
    const [min, max] = [facts.get("min"), facts.get("max")];
    if (min !== undefined && max !== undefined) {
      minValues[column.name] = statText(column.type, min);
      maxValues[column.name] = statText(column.type, max);
    }
    nullCount[column.name] = Number(facts.get("null_count") ?? 0);
  }
  return { numRecords: Number(written.count), minValues, maxValues, nullCount };
}

/**
 * A statistic in the protocol's form: timestamps have milliseconds and a zone. All timestamps of the lake are whole
 * milliseconds.
 */
function statText(type: ColumnType, text: string): string {
  return type === "timestamp" ? new Date(text.replace(" ", "T").replace(/\+00$/, "Z")).toISOString() : text;
}
