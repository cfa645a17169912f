import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * If the last change of a folder or file is older than this, in milliseconds, any later change gives it another stamp,
 * even with coarse timestamps.
 */
const SETTLED_MS = 3000;

/** The names in a folder, and the stamps that the folder and its newest file then had. */
interface FolderList {
  readonly stamp: string;
  readonly names: string[];
  /** The last name that is no hidden file or metadata: in the log of a table a newest entry. */
  readonly newest: string | undefined;
  readonly newestStamp: string;
}

interface Stamp {
  readonly text: string;
  readonly changedAt: number;
}

/**
 * Makes a function that lists folders, sorted; it returns the same array while a folder is unchanged. A service lists
 * each table's log for each request. The stamps are read synchronously: a read looks at up to seven tables, and by way
 * of a thread each stamp takes four times as long.
 *
 * A program that copies a backup over a folder may write into the files that are there: this leaves the folder as it is,
 * and changes the stamp of its newest file.
 *
 * The function throws the system's error where a folder cannot be listed. The array must not be changed.
 */
export function folderLists(): (folder: string) => Promise<string[]> {
  const known = new Map<string, FolderList>();
  return async (folder) => {
    const now = Date.now();
    // The stamp is read first: after a change between stamp and list, the next call lists again.
    const stamp = stampOf(folder);
    const before = known.get(folder);
    if (before?.stamp === stamp.text && newestStamp(folder, before.newest).text === before.newestStamp)
      return before.names;
    const names = (await readdir(folder)).sort();
    const newest = names.findLast((name) => !/^[._]/.test(name));
    const ofNewest = newestStamp(folder, newest);
    if (Math.max(stamp.changedAt, ofNewest.changedAt) < now - SETTLED_MS)
      known.set(folder, { stamp: stamp.text, names, newest, newestStamp: ofNewest.text });
    else known.delete(folder);
    return names;
  };
}

function stampOf(path: string): Stamp {
  const { ino, mtimeNs, ctimeNs, mtimeMs } = statSync(path, { bigint: true });
  return { text: `${ino} ${mtimeNs} ${ctimeNs}`, changedAt: Number(mtimeMs) };
}

const NO_STAMP: Stamp = { text: "", changedAt: 0 };

function newestStamp(folder: string, name: string | undefined): Stamp {
  if (name === undefined) return NO_STAMP;
  try {
    return stampOf(join(folder, name));
  } catch {
    return NO_STAMP;
  }
}
