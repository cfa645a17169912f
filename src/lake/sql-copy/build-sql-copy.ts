import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ident, literal } from "../../db/quote.js";
import { interruptOn } from "../../db/session/interrupt-on.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { verifyContent } from "../files/verify/verify-content.js";
import type { Lake } from "../lake.js";
import { viewsKey } from "../lake-views.js";
import { openReader } from "../open-reader.js";
import { IN_USE_MS, type SegmentPlace, segmentFolder } from "../segments/segment-folder.js";
import { MINUTE_BYTES } from "./copied-months.js";
import { COPIED_VIEWS, COPIES, type CopyKind, type SqlCopyFile, sqlCopyFiles } from "./sql-copy.js";

/** Estimated bytes of a bar in the copy. */
const ROW_BYTES: Readonly<Record<CopyKind, number>> = { days: 48, minutes: MINUTE_BYTES };

/**
 * Builds a copy for SQL of the newest state of a lake, if it does not exist. Its rows are read through the views, from
 * verified files.
 *
 * @param signal stops the work; the unfinished copy is then deleted.
 * @throws what reading the lake or writing the file throws.
 */
export async function buildSqlCopy(
  lake: Lake,
  place: SegmentPlace,
  kind: CopyKind,
  signal: AbortSignal,
): Promise<void> {
  using reader = await openReader(lake, { threads: 1, memoryLimit: "1GB", verify: false });
  const { session, snapshots } = reader;
  const files = sqlCopyFiles(snapshots, place, viewsKey(), lake.clock.now());
  const copy = files.find((file) => file.kind === kind);
  if (copy === undefined || existsSync(copy.path)) return;
  const folder = segmentFolder(place, lake.clock);
  if (!(await folder.freeSpaceFor(copy.rows * ROW_BYTES[kind]))) return;
  using _ = interruptOn(session, signal);
  // Files are verified even if this process did so before: they may be damaged since, and a copy would preserve the
  // damage.
  for (const { snapshot, files: sources } of copy.sources) {
    signal.throwIfAborted();
    await verifyContent(lake, snapshot, sources);
  }
  await folder.add(copy.path, (target) => writeCopy(lake, session, copy, target));
  for (const path of outdated(copy, lake.clock.now())) folder.remove(path);
}

async function writeCopy(lake: Lake, session: Session, copy: SqlCopyFile, target: string): Promise<void> {
  const { snapshot, files } = copy.bars;
  const isDays = copy.kind === "days";
  const { database } = COPIES[copy.kind];
  await session.run(`ATTACH ${literal(target)} AS ${database} (STORAGE_VERSION 'latest')`);
  // The rows have the order of the files, as in a query without ORDER BY.
  const bars = isDays
    ? `FROM raw.${ident(snapshot.table.name)}`
    : await parquetRelation(session, lake.filesOf(snapshot, files));
  await session.run(`CREATE TABLE ${database}.${ident(snapshot.table.name)} AS ${bars}`);
  for (const { schema, name, order } of isDays ? COPIED_VIEWS : [])
    await session.run(
      `CREATE TABLE ${database}.${ident(name)} AS FROM ${schema}.${ident(name)} ORDER BY ${order}`,
    );
  await session.run(`CREATE TABLE ${database}.made AS SELECT ${literal(copy.key)} AS key`);
  await session.run(`DETACH ${database}`);
  // The lake may be readable by its user only, so its copies are, too.
  chmodSync(target, 0o600);
}

/** The paths of copies of the same kind, of other states of the lake, that were built a while ago. */
function outdated({ path: own }: SqlCopyFile, now: number): string[] {
  const folder = dirname(own);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".duckdb"))
    .map((name) => join(folder, name))
    .filter((path) => path !== own && writtenAt(path) < now - IN_USE_MS);
}

/** When a copy was built, in epoch milliseconds; infinity where another process has deleted it. */
function writtenAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}
