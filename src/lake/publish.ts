import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, LakeError, messageOf } from "../core/errors.js";
import { writeFaultOf } from "../db/file-fault.js";
import { Session } from "../db/session.js";
import type { SessionOptions } from "../db/session-options.js";
import { createUserViews } from "../db/views.js";
import { verifyReads } from "./files/verify-reads.js";
import type { Lake, PointInTime } from "./lake.js";
import { createLakeViews, type ReadableTables, readableTables } from "./lake-views.js";

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
}

/** A database with a lake's views. */
export interface Reader extends ReadableTables {
  readonly session: Session;
}

/**
 * Opens a database with a lake's views at the newest version of each table, or at a point in time. A table that cannot
 * be read is listed in `refused`; only queries that read its view fail, with its name and the reason.
 */
export async function openReader(
  lake: Lake,
  { statement, verify = true, ...options }: ReaderOptions = {},
  pointInTime: PointInTime = {},
): Promise<Reader> {
  const tables = await readableTables(lake, pointInTime);
  // The folder of a lake that does not exist is not created by a reader.
  const spill = existsSync(lake.work.path) ? { spillUnder: lake.work.staging } : {};
  const session = await Session.open({ ...spill, ...lake.access, ...options });
  try {
    // A data file never changes once it has its name: its footer is read once.
    await session.run("SET parquet_metadata_cache = true");
    const found = await createLakeViews(session, lake, tables, statement);
    const userViews = statement === undefined ? lake.userViews : undefined;
    for (const fault of userViews === undefined ? [] : await createUserViews(session, userViews.folder))
      userViews?.onFault(fault);
    if (verify) await verifyReads(session, lake, found.snapshots);
    return { session, ...found };
  } catch (error) {
    session.close();
    throw error;
  }
}

/**
 * Writes `lake.duckdb`, the views over the live files for any DuckDB client, unless the lake is configured without it.
 * The new file replaces the old one by a rename, so clients that have the old file open can still read it.
 *
 * @throws {LakeError} where it cannot be written; then the old file stays.
 */
export async function publish(lake: Lake): Promise<void> {
  if (!lake.hasDatabase) return;
  await mkdir(lake.work.staging, { recursive: true });
  const staged = join(lake.work.staging, `${randomUUID()}.duckdb`);
  try {
    const { session } = await openReader(lake, { path: staged, verify: false });
    session.close();
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
