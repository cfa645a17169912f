import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { isCompacted, writeDataFile } from "../files/data-file.js";
import { verifyContent } from "../files/verify/verify-content.js";
import type { Lake } from "../lake.js";
import { commitWithRetries } from "../log/commit.js";
import { commitInfoAction, removeAction } from "../log/commit-actions.js";
import type { AddFile } from "../log/delta-actions.js";
import { retryOnConflict } from "../log/retry-on-conflict.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { deleteUncommitted, type LandOptions } from "./upsert.js";

/** What a withdrawal did to a table. */
export interface WithdrawReport {
  readonly rows: number;
  /** The table's version afterwards; the same as before where there was nothing to do. */
  readonly version: number;
}

/**
 * Removes rows from a table's current version, in one commit. Older versions still have the rows, because their files
 * remain.
 *
 * @param keys a temporary table with the table's key columns.
 * @throws {LakeError} for a live file that is damaged.
 * @throws {CommitConflict} when other writers were first at every attempt.
 */
export async function withdrawRows(
  session: Session,
  lake: Lake,
  table: TableSchema,
  keys: string,
  options: Pick<LandOptions, "runId" | "now" | "fence">,
): Promise<WithdrawReport> {
  return retryOnConflict(lake, table, (base) => withdrawFrom(session, lake, base, keys, options));
}

/**
 * Makes one attempt. @returns undefined where another writer has replaced one of the files: then nothing was committed.
 */
async function withdrawFrom(
  session: Session,
  lake: Lake,
  base: Snapshot,
  keys: string,
  { runId, now, fence }: Pick<LandOptions, "runId" | "now" | "fence">,
): Promise<WithdrawReport | undefined> {
  const { table } = base;
  const key = table.key.map(ident).join(", ");
  const live = await parquetRelation(session, lake.filesOf(base), { withFile: true });
  const touched = await session.json<{ live_file: string; rows: bigint }>(
    `SELECT live_file, count(*) AS rows FROM (${live}) SEMI JOIN ${ident(keys)} USING (${key}) GROUP BY live_file`,
  );
  const rows = touched.reduce((sum, one) => sum + Number(one.rows), 0);
  if (rows === 0) return { rows, version: base.version };
  const byUrl = new Map([...base.files.values()].map((file) => [lake.urlOf(base, file), file]));
  const files = touched.map(({ live_file }) => byUrl.get(live_file) as DataFile);
  await verifyContent(lake, base, files);
  const adds: AddFile[] = [];
  for (const file of files) {
    const own = await parquetRelation(session, lake.filesOf(base, [file]));
    const left = `SELECT * FROM (${own}) ANTI JOIN ${ident(keys)} USING (${key})`;
    const [counted] = await session.json<{ n: bigint }>(`SELECT count(*) AS n FROM (${left})`);
    if (counted?.n === 0n) continue;
    const as = isCompacted(file.path) ? "compacted" : "landed";
    const values = Object.fromEntries(
      Object.entries(file.partitionValues).map(([name, value]) => [name, value ?? ""]),
    );
    adds.push(await writeDataFile(session, lake, base, left, values, { as, now }));
  }
  const after = await commitWithRetries(lake, base, {
    actions: [
      commitInfoAction({ operation: "WITHDRAW", runId, now }, { numDeletedRows: rows }),
      ...files.map((file) => removeAction(file, { now, dataChange: true })),
      ...adds.map((add) => ({ add })),
    ],
    stillHolds: (newest) => files.every(({ path }) => newest.files.has(path)),
    now,
    fence,
  });
  if (after !== undefined) return { rows, version: after.version };
  await deleteUncommitted(lake, table, adds);
  return undefined;
}
