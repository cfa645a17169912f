import { copyFile, stat } from "node:fs/promises";
import { isOutside, type Lake } from "../lake.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { contentHash, hashInName } from "./data-file.js";

/**
 * Restores a lost file from a copy of the lake: the copy's file of the same name, if its content matches the hash in
 * the name. Files of other programs have no hash and are not restored.
 *
 * @returns whether it was restored.
 */
export async function restoreFile(
  lake: Lake,
  from: Lake,
  snapshot: Snapshot,
  file: DataFile,
): Promise<boolean> {
  const expected = hashInName(file.path);
  if (expected === undefined || isOutside(file.path)) return false;
  const source = from.urlOf(snapshot, file);
  const found = await stat(source).catch(() => undefined);
  if (!found?.isFile()) return false;
  const staged = await lake.storage.stagingFile("parquet");
  try {
    await copyFile(source, staged);
    if ((await contentHash(staged)) !== expected) return false;
    const path = `${snapshot.table.name}/${file.path}`;
    await lake.storage.delete(path);
    return await lake.storage.moveIn(staged, path);
  } finally {
    await lake.storage.discard(staged);
  }
}
