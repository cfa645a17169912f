import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "../storage/storage.js";
import { writing } from "./durable-file.js";

/**
 * Runs `use` with local paths of stored files: their own paths if the storage is on this machine, else those of
 * temporary copies. One request copies a small file, while DuckDB would need several to read it in the store.
 *
 * @throws where a file does not exist.
 */
export async function withLocalCopies<T>(
  storage: Storage,
  paths: readonly string[],
  use: (files: string[]) => Promise<T>,
): Promise<T> {
  if (storage.access === undefined) return use(paths.map((path) => storage.urlOf(path)));
  const folder = await mkdtemp(join(tmpdir(), "barlake-copy-"));
  try {
    const copies: string[] = [];
    for (const [n, path] of paths.entries()) {
      const pieces = await storage.read(path);
      if (pieces === undefined) throw new Error(`${path} does not exist`);
      const copy = join(folder, `${n}.parquet`);
      await writing(copy, () => writeFile(copy, pieces));
      copies.push(copy);
    }
    return await use(copies);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
