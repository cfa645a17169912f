import { randomUUID } from "node:crypto";
import { constants, existsSync, realpathSync, statSync } from "node:fs";
import { copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { BarlakeError, hintOf, LakeError, messageOf } from "../core/errors.js";
import { VERSION } from "../core/version.js";
import { writeFaultOf } from "../db/file-fault.js";
import { ident, literal } from "../db/quote.js";
import { countRows } from "../db/session/count-rows.js";
import { Session } from "../db/session/session.js";
import { withSmallSession } from "../db/session/small-session.js";
import { dropLists, storeList } from "../db/views/parquet-relation.js";
import { createRawView, hashOf, type RawView, rawViewOf } from "../db/views/raw-view.js";
import { inTransaction, replaceExtraViews, templatePath } from "../db/views/views.js";
import { hasUserViews, type Lake } from "./lake.js";
import {
  createLakeViews,
  extraViews,
  hasExDates,
  type ReadableTables,
  readableTables,
  TEMPLATE,
} from "./lake-views.js";
import { spillOptions } from "./local/work-folder.js";
import type { Snapshot } from "./log/snapshot.js";
import { addUserViews } from "./open-reader.js";
import { viewOf } from "./viewed-table.js";

/** What `lake.duckdb` was made from, as values by name. They are stored in its table `published.parts`. */
type Parts = ReadonlyMap<string, string>;

/** The names of the parts that are neither a view nor a list of files. */
const LOCATION = "location";
const VIEWS = "views";

/**
 * Stores in a new database what it was made from, so that {@link updateViews} can find out what has changed since.
 *
 * @param isWhole false where a table or a view was left out: such a database is not updated, but created again.
 */
async function recordParts(
  session: Session,
  lake: Lake,
  snapshots: readonly Snapshot[],
  views: readonly RawView[],
  isWhole: boolean,
): Promise<void> {
  const parts = new Map([
    [LOCATION, lake.storage.location],
    [VIEWS, isWhole ? viewsHash(lake, { snapshots, refused: [] }) : ""],
    ...views.flatMap(partsOf),
  ]);
  await inTransaction(session, async () => {
    await session.run("CREATE SCHEMA published");
    await session.run("CREATE TABLE published.parts (name VARCHAR, value VARCHAR)");
    await setParts(session, parts);
  });
}

/**
 * The location of the lake that a database file was made for. The file is attached to the session for this and detached
 * again: opening another database takes longer.
 *
 * @returns undefined where the file does not name it, or cannot be read: another client writes to it, or it is damaged.
 */
async function locationOf(session: Session, file: string): Promise<string | undefined> {
  const name = ident(`published_${randomUUID()}`);
  try {
    await session.run(`ATTACH ${literal(file)} AS ${name} (READ_ONLY)`);
  } catch {
    return undefined;
  }
  try {
    const rows = await session.json<{ value: string }>(
      `SELECT value FROM ${name}.published.parts WHERE name = $1`,
      [LOCATION],
    );
    return rows[0]?.value;
  } catch {
    return undefined;
  } finally {
    await session.run(`DETACH ${name}`);
  }
}

/**
 * Updates the views of a database. For each table, the lists of files that changed are stored again, and the view is
 * created again if its query changed.
 *
 * @returns false where the database must be created again; then nothing was changed.
 */
async function updateViews(session: Session, lake: Lake, tables: ReadableTables): Promise<boolean> {
  const parts = await readParts(session);
  const hash = viewsHash(lake, tables);
  const isSame = parts.get(LOCATION) === lake.storage.location && hash !== "" && parts.get(VIEWS) === hash;
  if (!isSame || tables.refused.length > 0) return false;
  await inTransaction(session, async () => {
    for (const snapshot of tables.snapshots) {
      const view = await rawViewOf(session, viewOf(lake, snapshot));
      await updateView(session, view, parts);
    }
    await replaceExtraViews(session, await extraViews(lake, tables.snapshots));
  });
  return true;
}

async function updateView(session: Session, view: RawView, parts: Parts): Promise<void> {
  const own = partsOf(view);
  const changed = new Map(own.filter(([name, value]) => parts.get(name) !== value));
  if (changed.has(viewPart(view))) {
    await dropLists(session, view.table);
    await createRawView(session, view, { hasComments: true });
  } else for (const list of view.lists) if (changed.has(list.name)) await storeList(session, list);
  await setParts(session, changed);
}

/**
 * A hash of everything that the views are made from except the tables' files. Empty where the user has SQL files, or
 * these cannot be read: such files may create tables, or views over other files, so they run again each time, in a new
 * database.
 */
function viewsHash(lake: Lake, tables: ReadableTables): string {
  if (hasUserViews(lake)) return "";
  return hashOf([
    VERSION,
    templatePath(TEMPLATE),
    String(hasExDates(tables)),
    ...tables.snapshots.map(({ table, columns }) => JSON.stringify([table.name, columns])),
  ]);
}

function viewPart({ table }: RawView): string {
  return `raw.${table}`;
}

function partsOf(view: RawView): [string, string][] {
  return [
    [viewPart(view), hashOf([view.query, ...view.lists.map(({ name }) => name)])],
    ...view.lists.map(({ name, urls }): [string, string] => [name, hashOf(urls)]),
  ];
}

/** The parts of a database; empty where another version of this program made it. */
async function readParts(session: Session): Promise<Parts> {
  const tables = "duckdb_tables() WHERE schema_name = 'published' AND table_name = 'parts'";
  if ((await countRows(session, tables)) !== 1) return new Map();
  const rows = await session.json<{ name: string; value: string }>("SELECT name, value FROM published.parts");
  return new Map(rows.map(({ name, value }) => [name, value]));
}

async function setParts(session: Session, parts: Parts): Promise<void> {
  if (parts.size === 0) return;
  const names = [...parts.keys()].map(literal).join(", ");
  await session.run(`DELETE FROM published.parts WHERE name IN (${names})`);
  const rows = [...parts].map(([name, value]) => `(${literal(name)}, ${literal(value)})`);
  await session.run(`INSERT INTO published.parts VALUES ${rows.join(", ")}`);
}

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
async function publishAgain(lake: Lake): Promise<void> {
  const staged = join(lake.work.staging, `${randomUUID()}.duckdb`);
  try {
    const tables = await readableTables(lake, {});
    if (!(await wasUpdated(lake, tables, staged))) await createDatabase(lake, tables, staged);
    const file = await open(staged, "r+");
    await file.sync();
    await file.close();
    await rename(staged, lake.work.databaseFile);
  } catch (cause) {
    const { message, hint = hintOf(cause) } = writeFaultOf(cause, staged) ?? { message: messageOf(cause) };
    throw new LakeError(
      `lake.duckdb: the views could not be created again, while the tables are as committed: ${message}`,
      { hint, cause },
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

/** A `lake.duckdb` that was made for another location: its views read the files of that location. */
interface ForeignDatabase {
  readonly from: string;
  /** Why its views could not be created again; undefined where they were created. */
  readonly error?: BarlakeError;
}

/**
 * Creates the views of `lake.duckdb` again if the file was made for another location. The views contain absolute paths:
 * in a copy of a lake they would read the files of the original.
 *
 * @param session reads the file. @default a small session of this process
 * @returns undefined where nothing had to be done: the file was made for this lake (even under another name of its
 *   folder), does not name its location, or does not exist.
 */
export async function publishIfMoved(lake: Lake, session?: Session): Promise<ForeignDatabase | undefined> {
  const { hasDatabase, databaseFile } = lake;
  if (!hasDatabase || !existsSync(databaseFile)) return undefined;
  const from =
    session === undefined
      ? await withSmallSession((small) => locationOf(small, databaseFile))
      : await locationOf(session, databaseFile);
  if (from === undefined || from === lake.storage.location || isSamePlace(lake, from)) return undefined;
  if (spillOptions(lake.work).spillUnder === undefined)
    return { from, error: new LakeError("this folder is read-only") };
  try {
    await publishAgain(lake);
    return { from };
  } catch (error) {
    if (error instanceof BarlakeError) return { from, error };
    throw error;
  }
}

/** Whether a path is another name of a lake's folder: a link, or a mount of it. */
function isSamePlace({ storage, databaseFile }: Lake, from: string): boolean {
  try {
    if (realpathSync(from) === realpathSync(storage.location)) return true;
    const [one, other] = [databaseFile, join(from, basename(databaseFile))].map((path) =>
      statSync(path, { bigint: true }),
    );
    return one?.dev === other?.dev && one?.ino === other?.ino;
  } catch {
    // One of them is no folder of this machine, or no longer exists.
    return false;
  }
}
