import { readdir, stat } from "node:fs/promises";

/** A folder whose last change is older than this is stamped otherwise by any later change, also where stamps are coarse. */
const SETTLED_MS = 3000;

/** A list of a folder, and the stamp that the folder had before it was listed. */
interface FolderList {
  readonly stamp: string;
  readonly names: string[];
}

/**
 * Lists folders: a folder that has not changed since gives the same array as before. A service looks at each table's log
 * for each request; a log of 10,000 entries takes 20 ms to list, and its stamp a tenth of one.
 *
 * The error of the system is thrown where a folder cannot be listed. The array must not be changed.
 */
export function folderLists(): (folder: string) => Promise<string[]> {
  const known = new Map<string, FolderList>();
  return async (folder) => {
    const now = Date.now();
    // Taken first: a change between the stamp and the list leads to another list, not to an old one.
    const { ino, mtimeNs, ctimeNs, mtimeMs } = await stat(folder, { bigint: true });
    const stamp = `${ino} ${mtimeNs} ${ctimeNs}`;
    const before = known.get(folder);
    if (before?.stamp === stamp) return before.names;
    const names = await readdir(folder);
    if (Number(mtimeMs) < now - SETTLED_MS) known.set(folder, { stamp, names });
    else known.delete(folder);
    return names;
  };
}
