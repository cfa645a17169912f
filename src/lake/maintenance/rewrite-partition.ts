import { LakeError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { type CompactableFile, type CompactionGroup, planCompaction } from "../../plan/compaction.js";
import { columnOf, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import { COMPACTED_GROWTH, codecOfFile, codecOfTable } from "../files/codec.js";
import { deleteDataFiles, isCompacted, writeDataFile } from "../files/data-file.js";
import { verifyContent } from "../files/verify/verify-content.js";
import type { Lake } from "../lake.js";
import type { AddFile } from "../log/delta-actions.js";
import { type DataFile, dataFileOf, type Snapshot } from "../log/snapshot.js";

/** A data file as the plan of a compaction sees it. */
export interface Candidate extends CompactableFile {
  readonly file: DataFile;
}

/** New files with the rows of live files, which they replace. */
export interface Replacement {
  readonly removed: readonly DataFile[];
  readonly added: readonly AddFile[];
}

/** Which files a compaction may take. */
export interface CandidateOptions {
  /** Only files of this partition. @default of all partitions */
  readonly partition?: string;
  /** Whether compacted files with another codec than the table's are rewritten too. */
  readonly rewrite: boolean;
}

/** The live files that a compaction may take. */
export function candidatesOf(snapshot: Snapshot, { partition, rewrite }: CandidateOptions): Candidate[] {
  const found: Candidate[] = [];
  for (const file of snapshot.files.values()) {
    // The lake writes no partition with a null value. Such a file belongs to another writer, and is not changed.
    if (Object.values(file.partitionValues).includes(null)) continue;
    const candidate = candidateOf(snapshot, file, rewrite);
    if (partition === undefined || candidate.partition === partition) found.push(candidate);
  }
  return found;
}

/**
 * Rewrites the files of one partition as fewer, larger ones. The rewrite is repeated until a plan finds nothing left to
 * do, because the size of a file is known only after it is written. Nothing is committed.
 *
 * @returns undefined where there is nothing to do.
 * @throws {LakeError} when a live file is damaged, or the new files do not have as many rows. Then the new files are
 *   deleted.
 */
export async function rewritePartition(
  session: Session,
  lake: Lake,
  base: Snapshot,
  partition: string,
  options: { readonly targetBytes: number; readonly rewrite: boolean; readonly now: number },
): Promise<Replacement | undefined> {
  const { table } = base;
  const live = candidatesOf(base, { partition, rewrite: options.rewrite });
  const written = new Map<DataFile, AddFile>();
  let current = live;
  try {
    for (;;) {
      const [group] = planCompaction(current, options.targetBytes)[0]?.groups ?? [];
      if (group === undefined) break;
      const values = partitionValuesOf(table, group);
      const originals = group.files.map(({ file }) => file).filter((file) => !written.has(file));
      await verifyContent(lake, base, originals);
      const outputs: Candidate[] = [];
      for (const rows of await outputsOf(session, lake, base, group)) {
        const add = await writeDataFile(session, lake, base, rows, values, {
          as: "compacted",
          now: options.now,
        });
        const file = dataFileOf(table, add);
        written.set(file, { ...add, dataChange: false });
        outputs.push(candidateOf(base, file, options.rewrite));
      }
      const replaced = new Set(group.files);
      current = [...current.filter((one) => !replaced.has(one)), ...outputs];
      await deleteReplaced(lake, table, group, written);
    }
    if (written.size === 0) return undefined;
    const left = new Set(current);
    const removed = live.filter((one) => !left.has(one)).map(({ file }) => file);
    await checkRows(session, lake, base, partition, removed, [...written.keys()]);
    return { removed, added: [...written.values()] };
  } catch (error) {
    await deleteDataFiles(lake.storage, table, [...written.values()]);
    throw error;
  }
}

/** Deletes intermediate files: those that this rewrite has written, and then replaced. */
async function deleteReplaced(
  lake: Lake,
  table: TableSchema,
  { files }: CompactionGroup<Candidate>,
  written: Map<DataFile, AddFile>,
): Promise<void> {
  for (const { file } of files) {
    const add = written.get(file);
    if (add === undefined) continue;
    await deleteDataFiles(lake.storage, table, [add]);
    written.delete(file);
  }
}

function candidateOf(snapshot: Snapshot, file: DataFile, rewrite: boolean): Candidate {
  const { table } = snapshot;
  const partition = table.partition.map((name) => `${name}=${file.partitionValues[name]}`).join("/");
  const first = sortColumn(table);
  const [min, max] = [file.stats?.minValues?.[first], file.stats?.maxValues?.[first]];
  const range = typeof min === "string" && typeof max === "string" ? { min, max } : undefined;
  const codec = codecOfTable(snapshot);
  const own = isCompacted(file.path) ? codecOfFile(file) : undefined;
  const growth =
    own === undefined ? COMPACTED_GROWTH[codec] : COMPACTED_GROWTH[codec] / COMPACTED_GROWTH[own];
  const isCompact = own !== undefined && (!rewrite || own === codec);
  return { file, partition, bytes: file.size * growth, isCompact, range };
}

/** A query for each output file, which selects its rows. Outputs are divided at values of the first sort column. */
async function outputsOf(
  session: Session,
  lake: Lake,
  base: Snapshot,
  { files, outputs }: CompactionGroup<Candidate>,
): Promise<string[]> {
  const rows = await parquetRelation(
    session,
    lake.filesOf(
      base,
      files.map(({ file }) => file),
    ),
  );
  if (outputs === 1) return [rows];
  const column = columnOf(base.table, sortColumn(base.table));
  const name = ident(column.name);
  // All rows of a value go to the output that contains the middle row of the value.
  const starts = await session.json<{ start: string }>(
    `SELECT CAST(min(value) AS VARCHAR) AS start
     FROM (
       SELECT value, floor((sum(n) OVER (ORDER BY value) - n / 2) * ${outputs} / sum(n) OVER ()) AS output
       FROM (SELECT ${name} AS value, count(*) AS n FROM (${rows}) GROUP BY value)
     )
     GROUP BY output ORDER BY output`,
  );
  const bounds = starts.slice(1).map(({ start }) => `CAST(${literal(start)} AS ${DUCKDB_TYPE[column.type]})`);
  return starts.map((_, index) => {
    const tests = [
      ...(index > 0 ? [`${name} >= ${bounds[index - 1]}`] : []),
      ...(index < bounds.length ? [`${name} < ${bounds[index]}`] : []),
    ];
    return tests.length === 0 ? rows : `SELECT * FROM (${rows}) WHERE ${tests.join(" AND ")}`;
  });
}

async function checkRows(
  session: Session,
  lake: Lake,
  base: Snapshot,
  partition: string,
  removed: readonly DataFile[],
  added: readonly DataFile[],
): Promise<void> {
  const before = await rowsOf(session, lake, base, removed);
  const after = await rowsOf(session, lake, base, added);
  if (before === after) return;
  throw new LakeError(
    `table ${base.table.name}, partition ${partition}: its files have ${before} rows by the log, rewritten they have ${after}; nothing was committed`,
    { hint: "a data file is not the one that was committed; restore it from a backup" },
  );
}

/** The number of rows by the log's statistics. The rows of files without statistics are counted by reading. */
async function rowsOf(
  session: Session,
  lake: Lake,
  base: Snapshot,
  files: readonly DataFile[],
): Promise<number> {
  const unknown = files.filter((file) => file.stats?.numRecords === undefined);
  const known = files.reduce((sum, file) => sum + (file.stats?.numRecords ?? 0), 0);
  if (unknown.length === 0) return known;
  const relation = await parquetRelation(session, lake.filesOf(base, unknown));
  const [counted] = await session.json<{ rows: bigint }>(`SELECT count(*) AS rows FROM (${relation})`);
  return known + Number(counted?.rows);
}

function sortColumn(table: TableSchema): string {
  return table.sort[0] as string;
}

/** The partition values of a group: all its files are in one partition, without nulls. */
function partitionValuesOf(
  table: TableSchema,
  { files }: CompactionGroup<Candidate>,
): Readonly<Record<string, string>> {
  const values = files[0]?.file.partitionValues ?? {};
  return Object.fromEntries(table.partition.map((name) => [name, values[name] ?? ""]));
}
