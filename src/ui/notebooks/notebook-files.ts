import { createHash, randomUUID } from "node:crypto";
import { lstat, open, readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import type { Language } from "../../core/language.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { linkIfAbsent, syncFolder } from "../../lake/local/durable-file.js";
import { notebookHead } from "../../notebook/parse/parse-notebook.js";
import { type ShippedNotebook, shippedNotebooks } from "../../notebook/shipped-notebooks.js";
import type { NotebookReport, SaveRequest } from "../page-data.js";

/** Most bytes of a name. File systems permit 255, and a temporary name is longer by some. */
const MOST_BYTES = 180;

/**
 * Checks the name of a notebook's file without `.sql`: letters, digits, and between them blanks and `. _ - ( ) + ,`. It
 * cannot lead to another folder, is not hidden by any system, and has no special meaning in a shell. @throws
 * {UsageError} with the rule that the name breaks.
 */
export function expectNotebookName(name: string): void {
  const reason = faultOf(name);
  if (reason === undefined) return;
  throw new UsageError(`the name ${JSON.stringify(name.slice(0, 80))} ${reason}`, {
    hint: "letters and digits, and among them blanks and . _ - ( ) + , make a name",
  });
}

function faultOf(name: string): string | undefined {
  if (name === "") return "is empty";
  if (/[/\\]/.test(name)) return "leads to another folder";
  if (name.startsWith(".")) return "begins with a dot";
  if (/\.sql$/i.test(name)) return "ends with .sql, which is added to it";
  if (Buffer.byteLength(name) > MOST_BYTES) return `has more than ${MOST_BYTES} bytes`;
  if (!/^[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M} ._()+,-]*[\p{L}\p{N}\p{M}_)+])?$/u.test(name))
    return "has a character that no name has";
  return undefined;
}

interface NotebookText {
  readonly text: string;
  /** Hash of the file's bytes, by which a change is noticed. */
  readonly hash: string;
  /** Whether the text is exactly the content of the file. Saving would damage a file that is not UTF-8. */
  readonly isExact: boolean;
}

/** Reads the file of a notebook. A byte order mark remains in the text. @throws the system's error. */
async function readNotebookText(path: string): Promise<NotebookText> {
  const bytes = await readFile(path);
  const text = bytes.toString("utf8");
  const isExact = Buffer.from(text).equals(bytes);
  return { text, hash: hashOf(bytes), isExact };
}

export function hashOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

interface KnownNotebook extends ShippedNotebook {
  readonly isShipped: boolean;
  readonly hash: string | null;
}

/** The notebooks in the user's folder, and those that come with barlake whose names are not among them. */
export async function listNotebooks(
  folder: string | undefined,
  language: Language,
): Promise<NotebookReport[]> {
  return (await knownNotebooks(folder, language)).map(({ name, title, description, isShipped, hash }) => {
    return { name, title, description: description ?? null, isShipped, hash };
  });
}

/** Reads the text of a listed notebook. @throws {UsageError} for any other name, for example a path. */
export async function readNotebook(
  folder: string | undefined,
  name: string,
): Promise<NotebookText & { readonly isShipped: boolean }> {
  const known = await knownNotebooks(folder);
  const found = known.find((one) => one.name === name);
  if (found === undefined)
    throw new UsageError(`there is no notebook ${JSON.stringify(name.slice(0, 80))}`, {
      hint: `there are ${known.map((one) => one.name).join(", ")}`,
    });
  return { ...(await readNotebookText(found.path)), isShipped: found.isShipped };
}

async function knownNotebooks(
  folder: string | undefined,
  language: Language = "en",
): Promise<KnownNotebook[]> {
  const own = folder === undefined ? [] : await ownNotebooks(folder, language);
  const names = new Set(own.map(({ name }) => name));
  const shipped = shippedNotebooks(language).filter(({ name }) => !names.has(name));
  return [...own, ...shipped.map((one) => ({ ...one, isShipped: true, hash: null }))];
}

async function ownNotebooks(folder: string, language: Language): Promise<KnownNotebook[]> {
  const files = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new UsageError(`notebooks ${folder}: cannot be read (${error.code})`, { cause: error });
  });
  const names = files.filter((file) => file.isFile() && file.name.endsWith(".sql")).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (file) => {
      const path = join(folder, file);
      const { text, hash } = await readNotebookText(path);
      const name = file.slice(0, -".sql".length);
      const { title = name, description } = notebookHead(text, language);
      return { name, path, title, description, isShipped: false, hash };
    }),
  );
}

/** The result. `changed`: the file no longer has the content from which the text was made, and nothing was written. */
type SaveOutcome =
  | { readonly kind: "saved"; readonly hash: string }
  /** `theirs` is what the file contains now; null where it was deleted. */
  | { readonly kind: "changed"; readonly theirs: NotebookText | null };

/**
 * Writes a notebook, completely or not at all: the content is made durable under a temporary name, which then replaces
 * the file. A link is never followed, and never replaced. @throws {UsageError} for an invalid name or folder. @throws
 * {BarlakeError} where the disk reports an error.
 */
async function saveNotebook(
  folder: string | undefined,
  { name, text, before }: SaveRequest,
): Promise<SaveOutcome> {
  expectNotebookName(name);
  const root = await writableFolder(folder);
  const path = join(root, `${name}.sql`);
  const found = await fileAt(path);
  if ((found?.hash ?? null) !== before) return { kind: "changed", theirs: found ?? null };
  if (found?.isExact === false)
    throw new UsageError(`file ${path}: is not UTF-8, and a text would not give its bytes again`, {
      hint: "convert it to UTF-8 first, or save under another name",
    });
  const draft = join(root, `.${name}.${randomUUID()}`);
  try {
    await writeDraft(draft, text, found?.mode);
    if (found !== undefined) await rename(draft, path);
    // A hard link does not replace a file that has been created in the meantime.
    else if (!(await linkIfAbsent(draft, path)))
      return { kind: "changed", theirs: (await fileAt(path)) ?? null };
    await syncFolder(root);
    return { kind: "saved", hash: hashOf(text) };
  } catch (cause) {
    const fault = writeFaultOf(cause, path, "the file is unchanged, and the page still has your text");
    throw fault === undefined ? cause : new BarlakeError(fault.message, { hint: fault.hint, cause });
  } finally {
    await rm(draft, { force: true });
  }
}

/** The real path of the folder, without links. @throws {UsageError} where there is none. */
async function writableFolder(folder: string | undefined): Promise<string> {
  if (folder === undefined)
    throw new UsageError("the workspace has no folder for notebooks", {
      hint: "start it with: barlake ui --notebooks FOLDER",
    });
  try {
    return await realpath(folder);
  } catch (cause) {
    throw new UsageError(`notebooks ${folder}: there is no such folder`, {
      hint: "make it first, or start: barlake ui --notebooks ANOTHER",
      cause,
    });
  }
}

/** The content of the file at a path; undefined where there is none. @throws {UsageError} for a link, or a folder. */
async function fileAt(path: string): Promise<(NotebookText & { readonly mode: number }) | undefined> {
  const facts = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (facts === undefined) return undefined;
  if (!facts.isFile())
    throw new UsageError(`file ${path}: is ${facts.isSymbolicLink() ? "a link" : "no file"}`, {
      hint: "choose another name",
    });
  return { ...(await readNotebookText(path)), mode: facts.mode };
}

/** Writes a new file durably. @param mode permissions of the file that it replaces */
async function writeDraft(path: string, text: string, mode: number | undefined): Promise<void> {
  const file = await open(path, "wx", mode ?? 0o666);
  try {
    await file.writeFile(text);
    // The umask of the process must not change the permissions that the replaced file had.
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

interface KnownFile {
  readonly name: string;
  readonly before: string;
}

/** The result. Except for `done`, nothing was changed. */
type MoveOutcome =
  | { readonly kind: "done" }
  /** Another notebook has the name. */
  | { readonly kind: "taken" }
  /** The file has another content than the page has read: `theirs`; null where it was deleted. */
  | { readonly kind: "changed"; readonly theirs: NotebookText | null };

/** The new name must not exist. A link is never followed. @throws as {@link saveNotebook} does. */
async function renameNotebook(
  folder: string | undefined,
  { name, before, to }: KnownFile & { readonly to: string },
): Promise<MoveOutcome> {
  expectNotebookName(to);
  return withFile(folder, { name, before }, async (path, root) => {
    // Both names exist for a short time, so that no other file is ever replaced.
    if (!(await linkIfAbsent(path, join(root, `${to}.sql`)))) return { kind: "taken" };
    await rm(path);
    return { kind: "done" };
  });
}

/** A link is never followed. @throws as {@link saveNotebook} does. */
function deleteNotebook(folder: string | undefined, file: KnownFile): Promise<MoveOutcome> {
  return withFile(folder, file, async (path) => {
    await rm(path);
    return { kind: "done" };
  });
}

async function withFile(
  folder: string | undefined,
  { name, before }: KnownFile,
  act: (path: string, root: string) => Promise<MoveOutcome>,
): Promise<MoveOutcome> {
  expectNotebookName(name);
  const root = await writableFolder(folder);
  const path = join(root, `${name}.sql`);
  const found = await fileAt(path);
  if (found?.hash !== before) return { kind: "changed", theirs: found ?? null };
  try {
    const outcome = await act(path, root);
    await syncFolder(root);
    return outcome;
  } catch (cause) {
    const fault = writeFaultOf(cause, path, "the file is as it was");
    throw fault === undefined ? cause : new BarlakeError(fault.message, { hint: fault.hint, cause });
  }
}

interface NotebookWriter {
  readonly save: (notebook: SaveRequest) => Promise<SaveOutcome>;
  readonly rename: (file: KnownFile & { readonly to: string }) => Promise<MoveOutcome>;
  readonly remove: (file: KnownFile) => Promise<MoveOutcome>;
}

/** Makes the functions that change the notebooks of a folder. Changes are made one after the other. */
export function notebookWriter(folder: string | undefined): NotebookWriter {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn =
    <A, T>(change: (folder: string | undefined, what: A) => Promise<T>) =>
    (what: A): Promise<T> => {
      const changing = last.then(() => change(folder, what));
      last = changing.catch(() => {});
      return changing;
    };
  return { save: inTurn(saveNotebook), rename: inTurn(renameNotebook), remove: inTurn(deleteNotebook) };
}
