import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../core/errors.js";
import { notebookHead } from "../../notebook/parse/notebook-head.js";
import { type ShippedNotebook, shippedNotebooks } from "../../notebook/shipped-notebooks.js";
import type { NotebookReport } from "../page-data.js";
import { type NotebookText, readNotebookText } from "./notebook-text.js";

/** A notebook that can be shown. */
interface KnownNotebook extends ShippedNotebook {
  readonly isShipped: boolean;
  readonly hash: string | null;
}

/**
 * The notebooks in the user's folder, and those that come with barlake. If two have the same name, the user's is
 * listed.
 *
 * @param folder undefined, or a folder that does not exist: only those that come with barlake.
 */
export async function listNotebooks(folder: string | undefined): Promise<NotebookReport[]> {
  return (await knownNotebooks(folder)).map(({ name, title, description, isShipped, hash }) => {
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

async function knownNotebooks(folder: string | undefined): Promise<KnownNotebook[]> {
  const own = folder === undefined ? [] : await ownNotebooks(folder);
  const names = new Set(own.map(({ name }) => name));
  const shipped = shippedNotebooks().filter(({ name }) => !names.has(name));
  return [...own, ...shipped.map((one) => ({ ...one, isShipped: true, hash: null }))];
}

async function ownNotebooks(folder: string): Promise<KnownNotebook[]> {
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
      const { title = name, description } = notebookHead(text);
      return { name, path, title, description, isShipped: false, hash };
    }),
  );
}
