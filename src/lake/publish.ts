import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, LakeError, messageOf } from "../core/errors.js";
import { writeFaultOf } from "../db/file-fault.js";
import { Session } from "../db/session/session.js";
import type { SessionOptions } from "../db/session/session-options.js";
import { createUserViews } from "../db/views/views.js";
import { verifyReads } from "./files/verify/verify-reads.js";
import type { Lake, PointInTime } from "./lake.js";
import { createLakeViews, type ReadableTables, readableTables, viewsKey } from "./lake-views.js";
import { spillOptions } from "./local/work-folder.js";
import { recordParts, updateViews } from "./published-views.js";
import type { SegmentPlace } from "./segments/segment-folder.js";
import { type AttachedCopy, attachSqlCopy } from "./sql-copy/attach-sql-copy.js";
import { type SqlCopyFile, sqlCopyFile } from "./sql-copy/sql-copy.js";

/** How a lake is read. */
export interface ReaderOptions extends SessionOptions {
  /**
   * Creates only those of the lake's own views that this statement mentions, and the views that they need: this takes a
   * tenth of the time. @default all views, including the user's own
   */
  readonly statement?: string;
  /**
   * Verifies the data files that statements read, each once in this process, before a result counts as whole. The error
   * names the damaged file. The cost is one more read of each file, at about 1 GB/s. @default true
   */
  readonly verify?: boolean;
  /** Where this machine has copies for SQL: the views read the one of their state, if there is one. @default nowhere */
  readonly copies?: SegmentPlace | undefined;
}

/** A database with a lake's views. Disposing it closes its session. */
export interface Reader extends ReadableTables, Disposable {
  readonly session: Session;
  /** The copy for SQL that the views read. */
  readonly copy: AttachedCopy | undefined;
  /** The copy that they would have read. */
  readonly missingCopy: SqlCopyFile | undefined;
}

/**
 * Opens a database with a lake's views at the newest version of each table, or at a point in time. A table that cannot
 * be read is listed in `refused`; only queries that read its view fail, with its name and the reason.
 */
export async function openReader(
  lake: Lake,
  { statement, verify = true, copies, ...options }: ReaderOptions = {},
  pointInTime: PointInTime = {},
): Promise<Reader> {
  const tables = await readableTables(lake, pointInTime);
  const session = await Session.open({ ...spillOptions(lake.work), ...lake.access, ...options });
  try {
    // A data file never changes once it has its name: its footer is read once.
    await session.run("SET parquet_metadata_cache = true");
    const stated = copies && sqlCopyFile(tables.snapshots, copies, viewsKey());
    const copy = stated && (await attachSqlCopy(session, stated));
    const found = await createLakeViews(session, lake, tables, statement, copy !== undefined);
    if (statement === undefined) await addUserViews(session, lake);
    if (verify) await verifyReads(session, lake, found.snapshots);
    const missingCopy = copy === undefined ? stated : undefined;
    const dispose = (): void => {
      session.close();
      copy?.[Symbol.dispose]();
    };
    return { session, ...found, copy, missingCopy, [Symbol.dispose]: dispose };
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Creates the user's own views. @returns whether all could be created. */
async function addUserViews(session: Session, { userViews }: Lake): Promise<boolean> {
  if (userViews === undefined) return true;
  const faults = await createUserViews(session, userViews.folder);
  for (const fault of faults) userViews.onFault(fault);
  return faults.length === 0;
}

/**
 * Writes `lake.duckdb`, the views over the live files for any DuckDB client, unless the lake is configured without it.
 * A copy of the old file is brought up to date where that is possible: this costs what has changed since, and a copy.
 * The new file replaces the old one by a rename, so clients that have the old file open can still read it.
 *
 * @throws {LakeError} where it cannot be written; then the old file stays.
 */
export async function publish(lake: Lake): Promise<void> {
  if (!lake.hasDatabase) return;
  await mkdir(lake.work.staging, { recursive: true });
  const staged = join(lake.work.staging, `${randomUUID()}.duckdb`);
  try {
    const tables = await readableTables(lake, {});
    if (!(await wasUpdated(lake, tables, staged))) await createDatabase(lake, tables, staged);
    const file = await open(staged, "r+");
    await file.sync();
    await file.close();
    await rename(staged, lake.work.databaseFile);
  } catch (cause) {
    const { message, hint = cause instanceof BarlakeError ? cause.hint : undefined } = writeFaultOf(
      cause,
      staged,
    ) ?? { message: messageOf(cause) };
    throw new LakeError(
      `lake.duckdb: the views could not be created again, while the tables are as committed: ${message}`,
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

/** Brings a copy of the database up to date. @returns false where it must be created again. */
async function wasUpdated(lake: Lake, tables: ReadableTables, staged: string): Promise<boolean> {
  if (!existsSync(lake.databaseFile)) return false;
  try {
    await copyFile(lake.databaseFile, staged, constants.COPYFILE_FICLONE);
    using session = await Session.open({ path: staged, ...spillOptions(lake.work), ...lake.access });
    if (await updateViews(session, lake, tables)) return true;
  } catch {
    // A damaged file, or a missing data file. The views are created again, which finds out which table is at fault.
  }
  await rm(staged, { force: true });
  await rm(`${staged}.wal`, { force: true });
  return false;
}

async function createDatabase(lake: Lake, tables: ReadableTables, staged: string): Promise<void> {
  using session = await Session.open({ path: staged, ...spillOptions(lake.work), ...lake.access });
  const { snapshots, refused, views } = await createLakeViews(session, lake, tables);
  const isWhole = (await addUserViews(session, lake)) && refused.length === 0;
  await recordParts(session, lake, snapshots, views, isWhole);
}
