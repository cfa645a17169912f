import { randomUUID } from "node:crypto";
import { VERSION } from "../core/version.js";
import { ident, literal } from "../db/quote.js";
import type { Session } from "../db/session/session.js";
import { dropLists, storeList } from "../db/views/file-lists.js";
import { createRawView, hashOf, type RawView, rawViewOf } from "../db/views/raw-view.js";
import { templatePath } from "../db/views/view-template.js";
import { inTransaction, replaceExtraViews } from "../db/views/views.js";
import { hasUserViews } from "./has-user-views.js";
import type { Lake } from "./lake.js";
import { extraViews, hasExDates, type ReadableTables, TEMPLATE } from "./lake-views.js";
import type { Snapshot } from "./log/snapshot.js";
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
export async function recordParts(
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
 * again, because opening another database takes 15 ms.
 *
 * @returns undefined where the file does not name it, or cannot be read: another client writes to it, or it is damaged.
 */
export async function locationOf(session: Session, file: string): Promise<string | undefined> {
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
export async function updateViews(session: Session, lake: Lake, tables: ReadableTables): Promise<boolean> {
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
  const [found] = await session.json<{ n: bigint }>(
    "SELECT count(*) AS n FROM duckdb_tables() WHERE schema_name = 'published' AND table_name = 'parts'",
  );
  if (found?.n !== 1n) return new Map();
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
