import { randomInt } from "node:crypto";
import { LakeError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import {
  type CompactableFile,
  type CompactionGroup,
  type PartitionCompaction,
  planCompaction,
} from "../../plan/compaction.js";
import { columnOf, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import {
  CODEC_KEY,
  COMPACTED_GROWTH,
  type Codec,
  codecOfFile,
  codecOfTable,
  deleteDataFiles,
  hashInName,
  isCompacted,
  writeDataFile,
} from "../files/data-file.js";
import { verifyContent } from "../files/verify-content.js";
import { byteCount, type Lake } from "../lake.js";
import { deleteUncommitted } from "../land/upsert.js";
import { commitWithRetries, retryOnConflict } from "../log/commit.js";
import { commitInfoAction, removeAction } from "../log/commit-actions.js";
import type { Action, AddFile } from "../log/delta-actions.js";
import { type DataFile, dataFileOf, type Snapshot } from "../log/snapshot.js";

/**
 * Stores the codec of a table's compacted files in the table's configuration. Commits nothing where the configuration
 * has it already, and for a table without a commit.
 *
 * @throws {CommitConflict} when other writers were first at every attempt. Then nothing was committed.
 */
export async function setCodec(
  lake: Lake,
  table: TableSchema,
  codec: Codec,
  runId: string,
  clock: Clock,
): Promise<void> {
  await retryOnConflict(lake, table, async (base) => {
    const { metaData } = base;
    if (metaData === undefined || metaData.configuration[CODEC_KEY] === codec) return base;
    const configuration = { ...metaData.configuration, [CODEC_KEY]: codec };
    const now = clock.now();
    return await commitWithRetries(lake, base, {
      actions: [
        commitInfoAction({ operation: "SET TBLPROPERTIES", runId, now }, {}),
        { metaData: { ...metaData, configuration } },
      ],
      stillHolds: () => true,
      now,
    });
  });
}

export interface Candidate extends CompactableFile {
  readonly file: DataFile;
}

/** New files with the rows of live files, which they replace. */
export interface Replacement {
  readonly removed: readonly DataFile[];
  readonly added: readonly AddFile[];
}

export interface CandidateOptions {
  /** Only files of this partition. @default of all partitions */
  readonly partition?: string;
  /** Whether files with another codec than that of the table's compacted files are rewritten too. */
  readonly rewrite: boolean;
}

/** The live files that a compaction may take. */
function candidatesOf(snapshot: Snapshot, { partition, rewrite }: CandidateOptions): Candidate[] {
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
async function rewritePartition(
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
      // All files of a group are in one partition.
      const values = group.files[0]?.file.partitionValues ?? {};
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
  const bytes = file.size * growth;
  // A landed file has no codec of its own to keep.
  const isOther = rewrite ? own !== codec : hashInName(file.path) === undefined;
  const kind = isOther ? "other" : own === undefined ? "landed" : "compacted";
  return { file, partition, bytes, kind, range };
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
  return known + (await countRows(session, `(${relation})`));
}

function sortColumn(table: TableSchema): string {
  return table.sort[0] as string;
}

/** Largest size of a data file, in bytes, unless the rows of one symbol alone are larger: 128 MB. */
export const TARGET_BYTES = 128_000_000;

export interface OptimizeOptions {
  readonly runId: string;
  /** Largest size of a data file in bytes, above 0. @default 128 MB */
  readonly targetBytes?: number;
  /** The codec of compacted files, now and in later compactions of the table. @default the table's codec */
  readonly codec?: Codec;
  /** Whether files with another codec than that of the table's compacted files are rewritten. @default false */
  readonly rewrite?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Whether another partition may be begun. @default always */
  readonly mayGoOn?: () => boolean;
  /** Called before each partition. */
  readonly onProgress?: ((progress: OptimizeProgress) => void) | undefined;
}

export interface OptimizeProgress {
  readonly table: string;
  /** The next partition: `region=CN/year=2026`. */
  readonly partition: string;
  /** Number of finished partitions, of the `total` that need compaction. */
  readonly done: number;
  readonly total: number;
}

/** What a compaction did to a table. Files and bytes are those of the whole table. */
export interface OptimizeReport {
  readonly table: string;
  readonly codec: Codec;
  /** Numbers of compacted files that have another codec. Only {@link OptimizeOptions.rewrite} changes them. */
  readonly otherCodecs: Readonly<Partial<Record<Codec, number>>>;
  /** Partitions that were compacted, each in its own commit. */
  readonly partitions: number;
  /** Files as landings wrote them, sorted, that no compaction would join or divide. */
  readonly asLanded: number;
  /** Partitions that were not compacted because other writers replaced their files at every attempt. */
  readonly skipped: readonly string[];
  readonly filesBefore: number;
  readonly filesAfter: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** The table's version afterwards; the same as before where there was nothing to do. */
  readonly version: number;
}

/** Most attempts at a partition while other writers replace its files. */
const MAX_TRIES = 4;
/**
 * Longest wait, in milliseconds, before a partition is tried again. Waits are random, so that two writers do not
 * collide repeatedly.
 */
const MAX_WAIT_MS = 500;

type Outcome = "compacted" | "settled" | "skipped";

/**
 * Compacts a table: in each partition, many files become few large ones, sorted, with each symbol in one file. The rows
 * do not change, and older versions still have their files. A partition is one commit, so a run that is stopped leaves
 * whole partitions; those with most files come first. Where nothing is left to do, nothing is committed.
 *
 * Other writers may work at the same time: what they append remains, and a partition whose files they replace is tried
 * again.
 *
 * @throws {LakeError} when rewritten files do not have as many rows as before. That partition is then unchanged.
 */
export async function optimize(
  session: Session,
  lake: Lake,
  table: TableSchema,
  options: OptimizeOptions,
  clock: Clock = lake.clock,
): Promise<OptimizeReport> {
  if (options.codec !== undefined) await setCodec(lake, table, options.codec, options.runId, clock);
  const before = await lake.snapshot(table);
  const { targetBytes = TARGET_BYTES, rewrite = false } = options;
  const plans = planCompaction(candidatesOf(before, { rewrite }), targetBytes).sort(
    (a, b) => filesOf([b]).length - filesOf([a]).length,
  );
  const skipped: string[] = [];
  let partitions = 0;
  for (const [done, { partition }] of plans.entries()) {
    if (options.signal?.aborted || options.mayGoOn?.() === false) break;
    options.onProgress?.({ table: table.name, partition, done, total: plans.length });
    const outcome = await compactPartition(session, lake, table, partition, options, clock);
    if (outcome === "compacted") partitions++;
    if (outcome === "skipped") skipped.push(partition);
  }
  const after = await lake.snapshot(table);
  return {
    table: table.name,
    codec: codecOfTable(after),
    otherCodecs: otherCodecs(after),
    partitions,
    asLanded: filesAsLanded(after, targetBytes),
    skipped,
    filesBefore: before.files.size,
    filesAfter: after.files.size,
    bytesBefore: byteCount(before),
    bytesAfter: byteCount(after),
    version: after.version,
  };
}

/** The number of live files of a table that no compaction has written, and that one would rewrite. */
export function landedFiles(snapshot: Snapshot): number {
  return filesOf(planCompaction(candidatesOf(snapshot, { rewrite: false }), TARGET_BYTES)).filter(
    ({ kind }) => kind !== "compacted",
  ).length;
}

/** The number of live files of a table as landings wrote them, of which a compaction would rewrite none. */
function filesAsLanded(snapshot: Snapshot, targetBytes: number): number {
  const candidates = candidatesOf(snapshot, { rewrite: false });
  const due = new Set(filesOf(planCompaction(candidates, targetBytes)));
  return candidates.filter((one) => one.kind === "landed" && !due.has(one)).length;
}

function filesOf(plans: readonly PartitionCompaction<Candidate>[]): Candidate[] {
  return plans.flatMap(({ groups }) => groups.flatMap(({ files }) => files));
}

function otherCodecs(snapshot: Snapshot): Partial<Record<Codec, number>> {
  const found: Partial<Record<Codec, number>> = {};
  for (const file of snapshot.files.values()) {
    if (!isCompacted(file.path)) continue;
    const codec = codecOfFile(file);
    if (codec !== codecOfTable(snapshot)) found[codec] = (found[codec] ?? 0) + 1;
  }
  return found;
}

async function compactPartition(
  session: Session,
  lake: Lake,
  table: TableSchema,
  partition: string,
  options: OptimizeOptions,
  clock: Clock,
): Promise<Outcome> {
  const { runId, targetBytes = TARGET_BYTES, rewrite = false } = options;
  for (let attempt = 1; ; attempt++) {
    const base = await lake.snapshot(table);
    const replacement = await rewritePartition(session, lake, base, partition, {
      targetBytes,
      rewrite,
      now: clock.now(),
    });
    if (replacement === undefined) return "settled";
    // If the commit throws, it may still have succeeded, so the written files must not be deleted.
    if (await commitReplacement(lake, base, replacement, runId, clock)) return "compacted";
    await deleteUncommitted(lake, table, replacement.added);
    if (attempt === MAX_TRIES) return "skipped";
    await clock.sleep(randomInt(1, MAX_WAIT_MS));
  }
}

/** Commits a replacement. @returns false where other writers have replaced one of the files: nothing was committed. */
async function commitReplacement(
  lake: Lake,
  base: Snapshot,
  replacement: Replacement,
  runId: string,
  clock: Clock,
): Promise<boolean> {
  const now = clock.now();
  const actions = actionsOf(replacement, runId, now);
  const after = await commitWithRetries(lake, base, {
    actions,
    stillHolds: ({ files }) => replacement.removed.every(({ path }) => files.has(path)),
    now,
  });
  return after !== undefined;
}

function actionsOf({ removed, added }: Replacement, runId: string, now: number): Action[] {
  const bytes = (files: readonly { readonly size: number }[]): number =>
    files.reduce((sum, file) => sum + file.size, 0);
  const info = commitInfoAction(
    { operation: "OPTIMIZE", runId, now },
    {
      numRemovedFiles: removed.length,
      numRemovedBytes: bytes(removed),
      numAddedFiles: added.length,
      numAddedBytes: bytes(added),
      numInsertedRows: 0,
      numUpdatedRows: 0,
    },
  );
  return [
    info,
    ...removed.map((file) => removeAction(file, { now, dataChange: false })),
    ...added.map((add) => ({ add })),
  ];
}
