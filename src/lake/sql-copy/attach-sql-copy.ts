import { closeSync, existsSync, fstatSync, openSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { messageOf, QueryError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { OWN_VIEWS, readViewTree } from "../../db/views/view-files.js";
import { COPIED_VIEWS, COPY, type SqlCopyFile } from "./sql-copy.js";

const OTHERS_WRITE = 0o022;

/**
 * Paths of copies that this process does not attach again: they are damaged, or belong to another user, and could not
 * be deleted.
 */
const refused = new Set<string>();

/**
 * A copy for SQL that a session reads. Dispose of it after the session: it closes the handle with which changes are
 * noticed.
 */
export interface AttachedCopy extends Disposable {
  readonly path: string;
  /**
   * Whether nothing was written into the file since it was attached. Checksums do not show that: overwritten blocks may
   * have valid ones. A file that was deleted, or replaced as a whole, can still be read.
   */
  isSame(): boolean;
}

/**
 * Attaches the copy for SQL of the state that a session reads.
 *
 * @returns undefined where there is no copy that can be used; then the session is unchanged.
 */
export async function attachSqlCopy(
  session: Session,
  { path, key }: SqlCopyFile,
): Promise<AttachedCopy | undefined> {
  const watched = refused.has(path) ? undefined : watch(path);
  if (watched === undefined) return undefined;
  let isAttached = false;
  try {
    await session.run(`ATTACH ${literal(path)} AS ${COPY} (READ_ONLY)`);
    isAttached = true;
    const made = await session.json<{ key: string }>(`SELECT key FROM ${COPY}.made`);
    if (made[0]?.key !== key) throw new Error(`${path}: it is of another state`);
    return watched;
  } catch {
    if (isAttached) await session.run(`DETACH ${COPY}`).catch(() => {});
    watched[Symbol.dispose]();
    discardSqlCopy(path);
    return undefined;
  }
}

/**
 * Opens a copy, so that later writes to it can be noticed. @returns undefined where there is none that this process may
 * use.
 */
function watch(path: string): AttachedCopy | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  const stamp = (): string => {
    const { size, mtimeNs } = fstatSync(file, { bigint: true });
    return `${size} ${mtimeNs}`;
  };
  const { uid, mode } = fstatSync(file);
  const own = process.getuid?.() ?? uid;
  // Another user could have written any content. DuckDB would apply a log next to the copy, but a finished copy has
  // none.
  if (uid !== own || (mode & OTHERS_WRITE) !== 0 || existsSync(`${path}.wal`)) {
    closeSync(file);
    refused.add(path);
    return undefined;
  }
  const attached = stamp();
  return { path, isSame: () => stamp() === attached, [Symbol.dispose]: () => closeSync(file) };
}

/**
 * Makes the views whose rows are in the copy read the copied rows.
 *
 * @param isThere whether the session has a view of this name.
 * @param hasComments whether the views get their comments.
 */
export async function readCopiedViews(
  session: Session,
  isThere: (name: string) => boolean,
  { hasComments }: { readonly hasComments: boolean },
): Promise<void> {
  const views = COPIED_VIEWS.filter(({ name }) => isThere(name));
  const files = hasComments ? readViewTree(OWN_VIEWS) : [];
  for (const { schema, name } of views) {
    const own = files.find(({ path }) => basename(path, ".sql") === name);
    const comments = own?.sql.slice(own.sql.indexOf("\nCOMMENT ON")) ?? "";
    const sql = `CREATE OR REPLACE VIEW ${schema}.${ident(name)} AS FROM ${COPY}.${ident(name)};${comments}`;
    await session.run(sql);
  }
}

/** Deletes a copy in which something is wrong. This process does not attach it again. */
export function discardSqlCopy(path: string): void {
  refused.add(path);
  try {
    rmSync(path, { force: true });
    refused.delete(path);
  } catch {
    // The folder may belong to another user, or the disk may be read-only: such files are neither used nor deleted.
  }
}

/**
 * Makes sure that a copy was not overwritten during a query. @throws {Error} where it was: the rows may be of both
 * contents.
 */
export function expectSame(copy: AttachedCopy | undefined): void {
  if (copy?.isSame() === false) throw new Error(`${copy.path}: it was written while a query read it`);
}

/** Errors that DuckDB reports where a database is not what it has written. It verifies a checksum of each block. */
const OF_DATABASE =
  /^(?:INTERNAL|FATAL|Serialization|Unknown) Error|^IO Error: .*(?:corrupt database|checksum)/is;
/** Errors of reading: a statement may read other files, too. */
const OF_READING = /^IO Error/;

/** Whether the error of a query may come from damage in the copy that it read. */
export function mayBeDamage(error: unknown, { path }: AttachedCopy): boolean {
  if (!(error instanceof QueryError)) return false;
  const texts = [error.message, ...(error.cause === undefined ? [] : [messageOf(error.cause)])];
  return texts.some((text) => OF_DATABASE.test(text) || (OF_READING.test(text) && text.includes(path)));
}
