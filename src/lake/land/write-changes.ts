import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { deleteDataFiles, writeDataFile } from "../files/data-file.js";
import { columnsOfScan } from "../files/parquet/write-rows.js";
import type { Lake } from "../lake.js";
import type { AddFile } from "../log/delta-actions.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { type ChangedRows, sameKey, selectAs } from "./changes.js";
import type { StagedPartition } from "./staged-rows.js";

/** Files that a landing adds to a table, and the files that these replace. */
export interface WrittenChanges {
  readonly adds: readonly AddFile[];
  readonly removed: readonly DataFile[];
}

/**
 * Writes changed rows as one file for each partition, together with all other rows of the live files that contain an
 * older row. Nothing is committed.
 *
 * @param now epoch milliseconds.
 */
export async function writeChanges(
  session: Session,
  lake: Lake,
  next: Snapshot,
  changes: ChangedRows,
  now: number,
): Promise<WrittenChanges> {
  const { partitions } = changes;
  // Only files with replaced rows are looked up by URL: a table may have very many files.
  const byUrl =
    changes.kind === "differing"
      ? new Map([...next.files.values()].map((file) => [lake.urlOf(next, file), file]))
      : undefined;
  const added = new Map<StagedPartition, AddFile>();
  const removed: DataFile[] = [];
  const write = async (own: Session, partition: StagedPartition): Promise<void> => {
    const { from, values, layout } = partition;
    const changed = selectAs(next.columns, changes.columns, from, layout && columnsOfScan(layout));
    const touched =
      byUrl !== undefined
        ? await own.json<{ live_file: string }>(
            `SELECT DISTINCT live_file FROM ${from} WHERE live_file IS NOT NULL`,
          )
        : [];
    const files = touched.map((row) => byUrl?.get(row.live_file) as DataFile);
    removed.push(...files);
    const rows =
      files.length === 0 ? changed : await rewritten(own, lake, next, files, { changed, keys: changes.from });
    added.set(partition, await writeDataFile(own, lake, next, rows, values, { as: "landed", now, layout }));
  };
  try {
    if (partitions.every(({ layout }) => layout !== undefined)) await twoAtATime(session, partitions, write);
    else for (const partition of partitions) await write(session, partition);
  } catch (error) {
    await deleteDataFiles(lake.storage, next.table, [...added.values()]);
    throw error;
  }
  return { adds: partitions.map((partition) => added.get(partition) as AddFile), removed };
}

/**
 * Writes partitions that are scans, which sibling sessions can read too, two at a time. While the last rows of one are
 * compressed, and its file is hashed and made durable, the next one uses the cores. All writes have ended before an
 * error is thrown.
 */
async function twoAtATime(
  session: Session,
  partitions: readonly StagedPartition[],
  write: (own: Session, partition: StagedPartition) => Promise<void>,
): Promise<void> {
  const waiting = [...partitions];
  const work = async (own: Session): Promise<void> => {
    try {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await write(own, one);
    } finally {
      waiting.length = 0;
    }
  };
  using sibling = await session.sibling();
  const ended = await session.inAnyOrder(() => Promise.allSettled([work(session), work(sibling)]));
  const failed = ended.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/**
 * SQL of the rows of live files, in which changed rows replace the older ones.
 *
 * @param rows.changed a SELECT of the changed rows of the files' partition.
 * @param rows.keys a table expression with the keys of all changed rows.
 */
async function rewritten(
  session: Session,
  lake: Lake,
  next: Snapshot,
  files: readonly DataFile[],
  { changed, keys }: { readonly changed: string; readonly keys: string },
): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(next, files));
  return `SELECT l.* FROM (${live}) l ANTI JOIN ${keys} d ON ${sameKey(next.table, "d", "l")} UNION ALL ${changed}`;
}
