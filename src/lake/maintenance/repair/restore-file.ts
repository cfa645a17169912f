import { contentHash } from "../../files/content-hash.js";
import { hashInName } from "../../files/data-file.js";
import { isOutside, type Lake } from "../../lake.js";
import { readPieces } from "../../local/local-files.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";

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
  const found = await from.read(snapshot, file).catch(() => undefined);
  if (found === undefined) return false;
  const copy = await lake.work.newFile("parquet");
  try {
    await lake.work.write(copy, found);
    const { hash, sha256 } = await contentHash(await readPieces(copy));
    if (hash !== expected) return false;
    const path = `${snapshot.table.name}/${file.path}`;
    await lake.storage.delete(path);
    return await lake.storage.putFileIfAbsent(copy, path, sha256);
  } finally {
    await lake.work.discard(copy);
  }
}
