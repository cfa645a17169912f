import { closeSync, existsSync, fstatSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf, QueryError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { ownViewFiles } from "../../db/views/view-files.js";
import { COPIED_VIEWS, COPIES, COPY_SUFFIX, type SqlCopyFile } from "./sql-copy.js";

/** The statements of a file of `sql/views`. */
interface BuiltInView {
  readonly create: string;
  /** The comments on it, after a line break. */
  readonly comments: string;
}

/** The statements that create one of the program's own views or macros. @throws {Error} where there is none. */
export function builtInView(name: string): BuiltInView {
  const file = ownViewFiles().find(({ path }) => basename(path, ".sql") === name);
  if (file === undefined) throw new Error(`sql/views has no ${name}`);
  const at = file.sql.indexOf("\nCOMMENT ON");
  return { create: file.sql.slice(0, at), comments: file.sql.slice(at) };
}

/** The statement of the comments on one of the program's own views or macros, after a line break. */
export function commentOf(name: string): string {
  return builtInView(name).comments;
}

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
  readonly file: SqlCopyFile;
  readonly bytes: number;
  readonly hasOddDays: boolean;
  /**
   * Whether nothing was written into the file since it was attached. Checksums do not show that: overwritten blocks may
   * have valid ones. A file that was deleted, or replaced as a whole, can still be read.
   */
  isSame(): boolean;
}

/** The row of the table `made` of a copy. */
interface Made {
  readonly key: string;
  readonly has_odd_days: boolean;
}

/**
 * Attaches the copy for SQL of the state that a session reads.
 *
 * @param database the name that it gets in the session.
 * @returns undefined where there is no copy that can be used; then the session is unchanged.
 */
export async function attachSqlCopy(
  session: Session,
  file: SqlCopyFile,
  database = COPIES[file.kind].database,
): Promise<AttachedCopy | undefined> {
  const { path, key } = file;
  const watched = refused.has(path) ? undefined : watch(file);
  if (watched === undefined) return undefined;
  let isAttached = false;
  try {
    await session.run(`ATTACH ${literal(path)} AS ${database} (READ_ONLY)`);
    isAttached = true;
    const [made] = await session.json<Made>(`FROM ${database}.made`);
    if (made?.key !== key) throw new Error(`${path}: it is of another state`);
    return { file, hasOddDays: made.has_odd_days, ...watched };
  } catch {
    if (isAttached) await session.run(`DETACH ${database}`).catch(() => {});
    watched[Symbol.dispose]();
    discardSqlCopy(path);
    return undefined;
  }
}

/**
 * Opens a copy, so that later writes to it can be noticed. @returns undefined where there is none that this process may
 * use.
 */
function watch({ path }: SqlCopyFile): Omit<AttachedCopy, "file" | "hasOddDays"> | undefined {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch {
    return undefined;
  }
  const stamp = (): string => {
    const { size, mtimeNs } = fstatSync(handle, { bigint: true });
    return `${size} ${mtimeNs}`;
  };
  const { uid, mode, size: bytes } = fstatSync(handle);
  const own = process.getuid?.() ?? uid;
  // Another user could have written any content. DuckDB would apply a log next to the copy, but a finished copy has
  // none.
  if (uid !== own || (mode & OTHERS_WRITE) !== 0 || existsSync(`${path}.wal`)) {
    closeSync(handle);
    refused.add(path);
    return undefined;
  }
  const attached = stamp();
  return { bytes, isSame: () => stamp() === attached, [Symbol.dispose]: () => closeSync(handle) };
}

/**
 * Makes the views whose rows are in the copy of days read the copied rows.
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
  for (const { schema, name } of views) {
    const comments = hasComments ? commentOf(name) : "";
    const sql = `CREATE OR REPLACE VIEW ${schema}.${ident(name)} AS FROM ${COPIES.days.database}.${ident(name)};${comments}`;
    await session.run(sql);
  }
}

/** Deletes a copy in which something is wrong. This process does not attach it again. */
function discardSqlCopy(path: string): void {
  refused.add(path);
  try {
    rmSync(path, { force: true });
    refused.delete(path);
  } catch {
    // The folder may belong to another user, or the disk may be read-only: such files are neither used nor deleted.
  }
}

/**
 * Makes sure that no copy was overwritten during a query. @throws {Error} where one was: the rows may be of both
 * contents.
 */
export function expectSame(copies: readonly AttachedCopy[]): void {
  for (const { file } of copies.filter((copy) => !copy.isSame()))
    throw new Error(`${file.path}: it was written while a query read it`);
}

/**
 * Gives up the copies from which the error of a query may come: they were overwritten, or are damaged. @returns their
 * paths.
 */
export function giveUpCopies(copies: readonly AttachedCopy[], error: unknown): string[] {
  const suspects = copies.filter((copy) => !copy.isSame() || mayBeDamage(error, copy));
  for (const { file } of suspects) {
    discardSqlCopy(file.path);
    if (file.kind === "minutes") for (const path of otherCopies(file)) discardSqlCopy(path);
  }
  return suspects.map(({ file }) => file.path);
}

/**
 * The paths of copies of the same kind, of other states of the lake, the newest first. A copy of minutes may have been
 * made from one of them, with its damage.
 */
export function otherCopies({ path: own }: SqlCopyFile): string[] {
  const folder = dirname(own);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name.endsWith(COPY_SUFFIX))
    .map((name) => join(folder, name))
    .filter((path) => path !== own)
    .sort((a, b) => writtenAt(b) - writtenAt(a));
}

/** When a copy was built, in epoch milliseconds; infinity where another process has deleted it. */
export function writtenAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

/** Errors that DuckDB reports where a database is not what it has written. It verifies a checksum of each block. */
const OF_DATABASE =
  /^(?:INTERNAL|FATAL|Serialization|Unknown) Error|^IO Error: .*(?:corrupt database|checksum)/is;
/** Errors of reading: a statement may read other files, too. */
const OF_READING = /^IO Error/;

/** Whether the error of a query may come from damage in a copy that it read. */
function mayBeDamage(error: unknown, { file: { path } }: AttachedCopy): boolean {
  if (!(error instanceof QueryError)) return false;
  const texts = [error.message, ...(error.cause === undefined ? [] : [messageOf(error.cause)])];
  return texts.some((text) => OF_DATABASE.test(text) || (OF_READING.test(text) && text.includes(path)));
}
