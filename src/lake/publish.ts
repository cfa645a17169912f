import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, LakeError, messageOf } from "../core/errors.js";
import { writeFaultOf } from "../db/file-fault.js";
import { literal } from "../db/quote.js";
import { Session, type SessionOptions } from "../db/session.js";
import { createUserViews, createViews } from "../db/views.js";
import { byteCount, type Lake, type Moment, rowCount } from "./lake.js";
import { rejectsSql } from "./rejects.js";
import type { Snapshot } from "./snapshot.js";
import { viewBranches } from "./view-branches.js";

export interface ReaderOptions extends SessionOptions {
  /** Creates only the views that this statement mentions, and what they need: opens in a tenth of the time. @default all */
  readonly statement?: string;
}

/** Opens a database with all of a lake's views, the user's own included, at the newest version of each table or at a moment. */
export async function openReader(
  lake: Lake,
  { statement, ...options }: ReaderOptions = {},
  moment: Moment = {},
): Promise<{ session: Session; snapshots: readonly Snapshot[] }> {
  const snapshots = await lake.snapshots(moment);
  const spill = existsSync(lake.folder) ? { spillUnder: lake.stagingFolder } : {};
  const session = await Session.open({ ...spill, ...options });
  try {
    // A data file never changes once it has its name: its footer is read once.
    await session.run("SET parquet_metadata_cache = true");
    await layViews(session, lake, snapshots, statement);
  } catch (error) {
    session.close();
    throw error;
  }
  return { session, snapshots };
}

/**
 * Writes `lake.duckdb`, unless the lake is to have none: the views over the live files, for any DuckDB client. It is made beside the old one and put in
 * its place by rename, so that whoever has the old one open keeps it.
 *
 * @throws {LakeError} where that could not be; the old one stays then.
 */
export async function publish(lake: Lake): Promise<void> {
  if (!lake.hasDatabase) return;
  await mkdir(lake.stagingFolder, { recursive: true });
  const staged = join(lake.stagingFolder, `${randomUUID()}.duckdb`);
  try {
    const { session } = await openReader(lake, { path: staged });
    session.close();
    const file = await open(staged, "r+");
    await file.sync();
    await file.close();
    await rename(staged, lake.databaseFile);
  } catch (cause) {
    const { message, hint = cause instanceof BarlakeError ? cause.hint : undefined } = writeFaultOf(
      cause,
      staged,
    ) ?? { message: messageOf(cause) };
    throw new LakeError(
      `lake.duckdb: the views could not be laid anew, while the tables are as committed: ${message}`,
      {
        hint,
        cause,
      },
    );
  } finally {
    await rm(staged, { force: true });
    await rm(`${staged}.wal`, { force: true });
  }
}

async function layViews(
  session: Session,
  lake: Lake,
  snapshots: readonly Snapshot[],
  statement: string | undefined,
): Promise<void> {
  const tables = snapshots.map((snapshot) => {
    const branches = viewBranches(snapshot)?.map(({ files, where }) => ({
      urls: lake.filesOf(snapshot, files).urls,
      where,
    }));
    return { ...lake.filesOf(snapshot), ...(branches && { branches }) };
  });
  const extra = { rejects: await rejectsSql(lake), tables: tablesSql(snapshots) };
  await createViews(session, tables, extra, statement);
  const { userViews } = lake;
  if (userViews === undefined) return;
  for (const fault of await createUserViews(session, userViews.folder)) userViews.onFault(fault);
}

/** The view `raw.tables`: what the lake holds, as literal rows. */
function tablesSql(snapshots: readonly Snapshot[]): string {
  const rows = snapshots.map((s) => {
    const at = s.committedAt === undefined ? "NULL" : `make_timestamptz(${s.committedAt * 1000})`;
    return `(${literal(s.table.name)}, ${s.version}, ${s.files.size}, ${rowCount(s)}, ${byteCount(s)}, ${at})`;
  });
  return `SELECT name, version::BIGINT AS version, files::BIGINT AS files, "rows"::BIGINT AS "rows", bytes::BIGINT AS bytes,
    committed_at::TIMESTAMPTZ AS committed_at FROM (VALUES ${rows.join(", ")}) t(name, version, files, "rows", bytes, committed_at)`;
}
