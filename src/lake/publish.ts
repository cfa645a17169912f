import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, LakeError, messageOf } from "../core/errors.js";
import { writeFaultOf } from "../db/file-fault.js";
import { Session } from "../db/session/session.js";
import type { Lake } from "./lake.js";
import { createLakeViews, type ReadableTables, readableTables } from "./lake-views.js";
import { spillOptions } from "./local/work-folder.js";
import { addUserViews } from "./open-reader.js";
import { recordParts, updateViews } from "./published-views.js";

/**
 * Writes `lake.duckdb`, the views over the live files for any DuckDB client, unless the lake is configured without it.
 * Where possible, a copy of the old file is updated: this takes the time of the copy and of the changes since. The new
 * file replaces the old one by a rename, so clients that have the old file open can still read it.
 *
 * @throws {LakeError} where the file cannot be written; then the old file remains.
 */
export async function publish(lake: Lake): Promise<void> {
  if (!lake.hasDatabase) return;
  await mkdir(lake.work.staging, { recursive: true });
  await publishAgain(lake);
}

/** As {@link publish}, of a lake whose folder of unfinished files exists: it is not made, and neither is the lake's. */
export async function publishAgain(lake: Lake): Promise<void> {
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

/** Updates a copy of the database. @returns false where the database must be created again. */
async function wasUpdated(lake: Lake, tables: ReadableTables, staged: string): Promise<boolean> {
  if (!existsSync(lake.databaseFile)) return false;
  try {
    await copyFile(lake.databaseFile, staged, constants.COPYFILE_FICLONE);
    using session = await Session.open({ path: staged, ...spillOptions(lake.work), ...lake.access });
    if (await updateViews(session, lake, tables)) return true;
  } catch {
    // The database is damaged, or a data file is missing. Creating the views again finds out which table is at fault.
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
