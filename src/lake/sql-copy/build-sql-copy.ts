import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ident, literal } from "../../db/quote.js";
import { interruptOn } from "../../db/session/interrupt-on.js";
import type { Session } from "../../db/session/session.js";
import { verifyContent } from "../files/verify/verify-content.js";
import type { Lake } from "../lake.js";
import { viewsKey } from "../lake-views.js";
import { openReader } from "../open-reader.js";
import { IN_USE_MS, type SegmentPlace, segmentFolder } from "../segments/segment-folder.js";
import { COPIED_TABLE, COPIED_VIEWS, COPY, SOURCES, type SqlCopyFile, sqlCopyFile } from "./sql-copy.js";

/** Estimated bytes of a daily bar in the copy. */
const ROW_BYTES = 48;

/**
 * Builds the copy for SQL of the newest state of a lake, if it does not exist. Its rows are read through the views,
 * from verified files.
 *
 * @param signal stops the work; the unfinished copy is then deleted.
 * @throws what reading the lake or writing the file throws.
 */
export async function buildSqlCopy(lake: Lake, place: SegmentPlace, signal: AbortSignal): Promise<void> {
  using reader = await openReader(lake, { threads: 1, memoryLimit: "1GB", verify: false });
  const { session, snapshots } = reader;
  const copy = sqlCopyFile(snapshots, place, viewsKey());
  if (copy === undefined || existsSync(copy.path)) return;
  const folder = segmentFolder(place, lake.clock);
  if (!(await folder.freeSpaceFor(copy.rows * ROW_BYTES))) return;
  using _ = interruptOn(session, signal);
  // Files are verified even if this process did so before: they may be damaged since, and a copy would preserve the
  // damage.
  for (const snapshot of snapshots.filter(({ table }) => SOURCES.includes(table))) {
    signal.throwIfAborted();
    await verifyContent(lake, snapshot, snapshot.files.values());
  }
  await folder.add(copy.path, (target) => writeCopy(session, copy, target));
  for (const path of unused(copy, lake.clock.now())) folder.remove(path);
}

async function writeCopy(session: Session, { key }: SqlCopyFile, target: string): Promise<void> {
  await session.run(`ATTACH ${literal(target)} AS ${COPY} (STORAGE_VERSION 'latest')`);
  const { name } = COPIED_TABLE;
  // The rows have the order of the files, as in a query without ORDER BY.
  await session.run(`CREATE TABLE ${COPY}.${ident(name)} AS FROM raw.${ident(name)}`);
  for (const { schema, name: view, order } of COPIED_VIEWS)
    await session.run(
      `CREATE TABLE ${COPY}.${ident(view)} AS FROM ${schema}.${ident(view)} ORDER BY ${order}`,
    );
  await session.run(`CREATE TABLE ${COPY}.made AS SELECT ${literal(key)} AS key`);
  await session.run(`DETACH ${COPY}`);
  // The lake may be readable by its user only, so its copies are, too.
  chmodSync(target, 0o600);
}

/** The paths of copies of other states of the lake that were not opened for a while. */
function unused({ path: own }: SqlCopyFile, now: number): string[] {
  const folder = dirname(own);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".duckdb"))
    .map((name) => join(folder, name))
    .filter((path) => path !== own && writtenAt(path) < now - IN_USE_MS);
}

/** When a copy was last written or used, in epoch milliseconds; infinity where another process has deleted it. */
function writtenAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}
