import { readFile } from "node:fs/promises";
import { UsageError } from "../../core/errors.js";
import type { Notebook } from "../../notebook/notebook.js";
import { parseNotebook } from "../../notebook/parse-notebook.js";
import { shippedNotebooks } from "../../notebook/shipped-notebooks.js";

/** A notebook and its source text. */
export interface FoundNotebook {
  readonly notebook: Notebook;
  readonly text: string;
}

/**
 * Reads the SQL file at a path, otherwise the shipped notebook of that name.
 *
 * @throws {UsageError} if neither exists, or a directive is wrong.
 */
export async function findNotebook(name: string): Promise<FoundNotebook> {
  const own = await readIfThere(name);
  const shipped = shippedNotebooks();
  const path =
    own === undefined ? shipped.find((one) => one.name === name.replace(/\.sql$/, ""))?.path : name;
  if (path === undefined) {
    throw new UsageError(`file ${name} does not exist, nor a notebook of that name`, {
      hint: `shipped notebooks: ${shipped.map((one) => one.name).join(", ")}`,
    });
  }
  const text = own ?? (await readFile(path, "utf8"));
  return { notebook: parseNotebook(text, path), text };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A folder may have the name of a shipped notebook.
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return undefined;
    throw new UsageError(`file ${path} cannot be read: ${code ?? "no reason given"}`, { cause: error });
  }
}
