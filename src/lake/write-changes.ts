import { parquetRelation } from "../db/parquet-relation.js";
import { ident } from "../db/quote.js";
import type { Session } from "../db/session.js";
import { DIFF, sameKey, selectAs } from "./changes.js";
import { deleteDataFiles, writeDataFile } from "./data-file.js";
import type { AddFile } from "./delta-actions.js";
import type { Lake } from "./lake.js";
import type { DataFile, Snapshot } from "./snapshot.js";
import type { StagedRows } from "./staged-rows.js";

/** Files that a landing adds to a table, and those that they take the place of. */
export interface WrittenChanges {
  readonly adds: readonly AddFile[];
  readonly removed: readonly DataFile[];
}

/**
 * Writes what changed, a file a partition; a live file that holds an older row goes into it whole. Nothing is committed.
 *
 * @param changes staged rows, or those of {@link DIFF}.
 * @param now epoch milliseconds.
 */
export async function writeChanges(
  session: Session,
  lake: Lake,
  next: Snapshot,
  changes: StagedRows,
  now: number,
): Promise<WrittenChanges> {
  const byUrl = new Map([...next.files.values()].map((file) => [lake.urlOf(next, file), file]));
  const isDiff = changes.from === ident(DIFF);
  const adds: AddFile[] = [];
  const removed: DataFile[] = [];
  try {
    for (const { from, values, inOrder } of changes.partitions) {
      const changed = await selectAs(session, next.columns, from);
      const touched = isDiff
        ? await session.json<{ live_file: string }>(
            `SELECT DISTINCT live_file FROM ${from} WHERE live_file IS NOT NULL`,
          )
        : [];
      const files = touched.map((row) => byUrl.get(row.live_file) as DataFile);
      removed.push(...files);
      const rows = files.length === 0 ? changed : await rewritten(session, lake, next, files, changed);
      adds.push(
        await writeDataFile(session, lake.storage, next, rows, values, { as: "landed", now, inOrder }),
      );
    }
  } catch (error) {
    await deleteDataFiles(lake.storage, next.table, adds);
    throw error;
  }
  return { adds, removed };
}

/** The rows of live files with the changed ones put in the place of the older. */
async function rewritten(
  session: Session,
  lake: Lake,
  next: Snapshot,
  files: readonly DataFile[],
  changed: string,
): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(next, files));
  return `SELECT l.* FROM (${live}) l ANTI JOIN ${DIFF} d ON ${sameKey(next.table, "d", "l")} UNION ALL ${changed}`;
}
