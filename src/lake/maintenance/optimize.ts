import { randomInt } from "node:crypto";
import type { Clock } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import { type PartitionCompaction, planCompaction } from "../../plan/compaction.js";
import type { TableSchema } from "../../schema/column.js";
import { type Codec, codecOfFile, codecOfTable } from "../files/codec.js";
import { isCompacted } from "../files/data-file.js";
import { byteCount, type Lake } from "../lake.js";
import { deleteUncommitted } from "../land/upsert.js";
import { commitWithRetries } from "../log/commit.js";
import { commitInfoAction, removeAction } from "../log/commit-actions.js";
import type { Action } from "../log/delta-actions.js";
import type { Snapshot } from "../log/snapshot.js";
import { type Candidate, candidatesOf, type Replacement, rewritePartition } from "./rewrite-partition.js";
import { setCodec } from "./set-codec.js";

/** Largest size of a data file, in bytes, unless the rows of one symbol alone are larger: 128 MB. */
export const TARGET_BYTES = 128_000_000;

export interface OptimizeOptions {
  /** Identifies the run, for the log. */
  readonly runId: string;
  /** Largest size of a data file in bytes, above 0. @default 128 MB */
  readonly targetBytes?: number;
  /** The codec of compacted files, now and in later compactions of the table. @default the table's codec */
  readonly codec?: Codec;
  /** Whether compacted files with another codec than the table's are rewritten. @default false */
  readonly rewrite?: boolean;
  /** Stops the work after the current partition. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another partition may be begun. @default always */
  readonly mayGoOn?: () => boolean;
  /** Called before each partition. */
  readonly onProgress?: ((progress: OptimizeProgress) => void) | undefined;
}

/** The progress of the compaction of a table. */
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
  /** The codec of the table's compacted files. */
  readonly codec: Codec;
  /** Numbers of compacted files that have another codec. Only {@link OptimizeOptions.rewrite} changes them. */
  readonly otherCodecs: Readonly<Partial<Record<Codec, number>>>;
  /** Partitions that were compacted, each in its own commit. */
  readonly partitions: number;
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
    (a, b) => filesIn(b) - filesIn(a),
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
    skipped,
    filesBefore: before.files.size,
    filesAfter: after.files.size,
    bytesBefore: byteCount(before),
    bytesAfter: byteCount(after),
    version: after.version,
  };
}

/** The number of live files of a table that no compaction has written, and that one could take. */
export function landedFiles(snapshot: Snapshot): number {
  return candidatesOf(snapshot, { rewrite: false }).filter(({ isCompact }) => !isCompact).length;
}

function filesIn({ groups }: PartitionCompaction<Candidate>): number {
  return groups.reduce((sum, { files }) => sum + files.length, 0);
}

/** The numbers of compacted files with other codecs than the table's. */
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
