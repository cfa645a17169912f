import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Language } from "../core/language.js";
import { notebookHead } from "./parse/parse-notebook.js";

const FOLDER = fileURLToPath(new URL("../../sql/notebooks", import.meta.url));

export interface ShippedNotebook {
  /** The name of the file without the extension. */
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly description: string | undefined;
}

/** The notebooks that come with barlake, by name. @param language of titles and descriptions */
export function shippedNotebooks(language: Language = "en"): ShippedNotebook[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const path = join(FOLDER, file);
      const name = basename(file, ".sql");
      const { title = name, description } = notebookHead(readFileSync(path, "utf8"), language);
      return { name, path, title, description };
    });
}
