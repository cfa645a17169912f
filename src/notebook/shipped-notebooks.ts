import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of the notebooks that come with barlake. */
const FOLDER = fileURLToPath(new URL("../../sql/notebooks", import.meta.url));

/** A notebook that comes with barlake. */
export interface ShippedNotebook {
  /** The name of the file without the extension. */
  readonly name: string;
  readonly path: string;
  /** The title in its first line. */
  readonly title: string;
}

/** The notebooks that come with barlake, by name. */
export function shippedNotebooks(): ShippedNotebook[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const path = join(FOLDER, file);
      const [first = ""] = readFileSync(path, "utf8").split("\n", 1);
      return { name: basename(file, ".sql"), path, title: first.replace(/^--\s*#*\s*/, "") };
    });
}
