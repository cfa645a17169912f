import { LakeError } from "../../core/errors.js";
import type { TimeRange } from "../../core/time.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import { contentHash } from "../files/content-hash.js";
import { hashInName } from "../files/data-file.js";
import { statedBounds, statedTimes } from "../files/prune.js";
import { damageError, damageOf, type FileDamage } from "../files/verify-content.js";
import { isOutside, type Lake } from "../lake.js";
import { upsert } from "../land/upsert.js";
import { readPieces } from "../local/local-files.js";
import { type HistoryEntry, readHistory } from "../log/history.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { isStoreFault, STORE_HINT } from "../storage/store-fault.js";

export interface LostFile extends Pick<FileDamage, "kind" | "what"> {
  readonly file: DataFile;
  /** Undefined where the log has no count, as for some files of other programs. */
  readonly rows: number | undefined;
  /** The least and the greatest symbol. */
  readonly symbols: { readonly first: string; readonly last: string } | undefined;
  /** From the first timestamp to one millisecond after the last; epoch milliseconds. */
  readonly range: TimeRange | undefined;
}

/**
 * Reads every live file of a table, and returns those that are missing or damaged.
 *
 * @param options.signal ends it, also within a file; its reason is thrown.
 * @param options.onProgress is called before each file is read.
 */
export async function lostFiles(
  lake: Lake,
  snapshot: Snapshot,
  {
    signal,
    onProgress,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?:
      | ((progress: { table: string; file: string; done: number; total: number }) => void)
      | undefined;
  } = {},
): Promise<LostFile[]> {
  const lost: LostFile[] = [];
  const table = snapshot.table.name;
  for (const [done, file] of [...snapshot.files.values()].entries()) {
    onProgress?.({ table, file: file.path, done, total: snapshot.files.size });
    signal?.throwIfAborted();
    const damage = await damageOf(lake, snapshot, file, signal);
    // The file may be sound: permissions or a missing mount may prevent this process from reading it.
    if (damage?.kind === "unreadable")
      throw new LakeError(`table ${table}: ${file.path} ${damage.what}; the table was not changed`, {
        hint: isStoreFault(damage.cause)
          ? STORE_HINT
          : "make the file readable for this user, then repair again",
        cause: damage.cause,
      });
    // A file that was replaced and vacuumed since the log was read is not lost.
    if (damage === undefined || !(await lake.snapshot(snapshot.table)).files.has(file.path)) continue;
    lost.push({ kind: damage.kind, what: damage.what, file, ...contentByLog(file) });
  }
  return lost;
}

function contentByLog(file: DataFile): Pick<LostFile, "rows" | "symbols" | "range"> {
  const symbols = statedBounds(file, "symbol");
  return {
    rows: file.stats?.numRecords,
    symbols: symbols && { first: symbols.min, last: symbols.max },
    range: statedTimes(file, "timestamp"),
  };
}

export interface CopiedRows {
  readonly rows: number;
  /** Why no rows were taken although the copy has rows; undefined where its rows could be taken. */
  readonly refused?: string;
}

/**
 * Lands rows from a copy of the lake to replace a lost file that is no longer in the table: the rows of its partition,
 * symbols and time that the table lacks. The copy may have other files, as after a compaction; damaged ones are not
 * read. Nothing lands where the copy has more rows than were lost: some may have been withdrawn since.
 *
 * @param options.most number of rows that were lost in the file's partition; undefined where that is not known.
 */
export async function copyLostRows(
  session: Session,
  lake: Lake,
  from: Lake,
  table: TableSchema,
  lost: LostFile,
  { most, ...options }: { readonly runId: string; readonly now: number; readonly most: number | undefined },
): Promise<CopiedRows> {
  const copy = await from.snapshot(table);
  const files: DataFile[] = [];
  for (const file of copy.files.values()) {
    if (!isSamePartition(lost.file, file)) continue;
    const damage = await damageOf(from, copy, file);
    // The unreadable file may have the rows: they count as lost only if it is certain that the copy does not have them.
    if (damage?.kind === "unreadable") throw damageError(copy, file, damage);
    if (damage === undefined) files.push(file);
  }
  if (files.length === 0) return { rows: 0 };
  const current = await lake.snapshot(table);
  const key = table.key.map(ident).join(", ");
  const copied = await parquetRelation(session, from.filesOf(copy, files));
  const live = await parquetRelation(session, lake.filesOf(current));
  const bounds = boundsOf(current, lost).map((test) => `AND ${test}`);
  // The copy's rows that the lost file may have contained.
  await using rows = new TempTable(session, "copied_rows");
  await rows.fill(`SELECT * FROM (${copied}) WHERE true ${bounds.join(" ")}`);
  await session.run(`DELETE FROM ${rows.name} WHERE (${key}) IN (SELECT (${key}) FROM (${live}))`);
  const found = most === undefined ? 0 : await countRows(session, rows.name);
  if (most !== undefined && found > most)
    return { rows: 0, refused: `the copy has ${found} rows for the ${most} that were lost` };
  const { inserted } = await upsert(session, lake, table, rows.name, { operation: "REPAIR", ...options });
  return { rows: inserted };
}

/**
 * Whether rows were withdrawn from a lake by a commit that the log of its copy does not have, or may have been: by one between the
 * copy's end and the beginning of a log that a vacuum has shortened since.
 */
export async function lacksWithdrawal(lake: Lake, from: Lake, table: TableSchema): Promise<boolean> {
  const [own, copied] = [await readHistory(lake.storage, table), await readHistory(from.storage, table)];
  if ((own[0]?.version ?? 0) > (copied.at(-1)?.version ?? -1) + 1) return true;
  const withdrawals = (history: readonly HistoryEntry[]): (string | undefined)[] =>
    history.flatMap(({ operation, runId }) => (operation === "WITHDRAW" ? [runId] : []));
  const known = new Set(withdrawals(copied));
  return withdrawals(own).some((runId) => !known.has(runId));
}

export function isSamePartition(a: DataFile, b: DataFile): boolean {
  return Object.entries(a.partitionValues).every(([name, value]) => b.partitionValues[name] === value);
}

/** Conditions that every row of a lost file met, by the statistics in the log. */
function boundsOf({ table, columns }: Snapshot, { file }: LostFile): string[] {
  const { minValues = {}, maxValues = {} } = file.stats ?? {};
  return columns.flatMap(({ name, type }) => {
    // Other columns may be null.
    if (!table.key.includes(name)) return [];
    const [min, max] = [minValues[name], maxValues[name]];
    if (typeof min !== "string" || typeof max !== "string") return [];
    const value = (text: string): string => `CAST(${literal(text)} AS ${DUCKDB_TYPE[type]})`;
    // Other writers may truncate microseconds.
    const end = type === "timestamp" ? `${value(max)} + INTERVAL 1 MILLISECOND` : value(max);
    return [`${ident(name)} BETWEEN ${value(min)} AND ${end}`];
  });
}

/**
 * Restores a lost file from a copy of the lake: the copy's file of the same name, if its content matches the hash in
 * the name. Files of other programs have no hash and are not restored.
 *
 * @returns whether it was restored.
 */
export async function restoreFile(
  lake: Lake,
  from: Lake,
  snapshot: Snapshot,
  file: DataFile,
): Promise<boolean> {
  const expected = hashInName(file.path);
  if (expected === undefined || isOutside(file.path)) return false;
  const found = await from.read(snapshot, file).catch(() => undefined);
  if (found === undefined) return false;
  const copy = await lake.work.newFile("parquet");
  try {
    await lake.work.write(copy, found);
    const { hash, sha256 } = await contentHash(await readPieces(copy));
    if (hash !== expected) return false;
    const path = `${snapshot.table.name}/${file.path}`;
    await lake.storage.delete(path);
    return await lake.storage.putFileIfAbsent(copy, path, sha256);
  } finally {
    await lake.work.discard(copy);
  }
}
