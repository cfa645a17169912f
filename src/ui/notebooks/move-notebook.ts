import { rm } from "node:fs/promises";
import { join } from "node:path";
import { BarlakeError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { syncFolder } from "../../lake/local/durable-file.js";
import { expectNotebookName } from "./notebook-name.js";
import type { NotebookText } from "./notebook-text.js";
import { fileAt, linkIfAbsent, writableFolder } from "./save-notebook.js";

/** A notebook in the state in which a page has read it. */
export interface KnownFile {
  readonly name: string;
  /** Hash of the file's content as the page read it. */
  readonly before: string;
}

/** The result. Except for `done`, nothing was changed. */
export type MoveOutcome =
  | { readonly kind: "done" }
  /** Another notebook has the name. */
  | { readonly kind: "taken" }
  /**
   * The file no longer has the content that the page has read. `theirs` is what it contains now; null where it was
   * deleted.
   */
  | { readonly kind: "changed"; readonly theirs: NotebookText | null };

/**
 * Renames a notebook of a folder. The new name must not exist. A link is never followed.
 *
 * @throws {UsageError} for an invalid name or folder.
 * @throws {BarlakeError} where the disk reports an error.
 */
export async function renameNotebook(
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

/**
 * Deletes a notebook of a folder. A link is never followed.
 *
 * @throws {UsageError} for an invalid name or folder.
 * @throws {BarlakeError} where the disk reports an error.
 */
export function deleteNotebook(folder: string | undefined, file: KnownFile): Promise<MoveOutcome> {
  return withFile(folder, file, async (path) => {
    await rm(path);
    return { kind: "done" };
  });
}

/** Runs a function on a file, if its content is what the page has read. */
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
