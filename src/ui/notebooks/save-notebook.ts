import { randomUUID } from "node:crypto";
import { link, lstat, open, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { syncFolder } from "../../lake/local/durable-file.js";
import { expectNotebookName } from "./notebook-name.js";
import { hashOf, type NotebookText, readNotebookText } from "./notebook-text.js";

/** A notebook to write. */
export interface SavedNotebook {
  readonly name: string;
  readonly text: string;
  /** Hash of the content of the file from which the text was made; null where there was no file. */
  readonly before: string | null;
}

/** The result. `changed`: the file no longer has the content from which the text was made, and nothing was written. */
export type SaveOutcome =
  | { readonly kind: "saved"; readonly hash: string }
  /** `theirs` is what the file contains now; null where it was deleted. */
  | { readonly kind: "changed"; readonly theirs: NotebookText | null };

/**
 * Writes a notebook to a folder, completely or not at all: the content is made durable under a temporary name, which
 * then replaces the file. A link is never followed, and never replaced.
 *
 * @throws {UsageError} for an invalid name or folder.
 * @throws {BarlakeError} where the disk reports an error.
 */
export async function saveNotebook(
  folder: string | undefined,
  { name, text, before }: SavedNotebook,
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
export async function writableFolder(folder: string | undefined): Promise<string> {
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
export async function fileAt(path: string): Promise<(NotebookText & { readonly mode: number }) | undefined> {
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

/** Gives a file a second name, unless that name exists. @returns false where it exists */
export async function linkIfAbsent(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
