import { statSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { folderLeases } from "../../lease/folder-leases.js";
import {
  linkNew,
  makeFolders,
  syncFile,
  syncFolder,
  withStagedText,
  writing,
} from "../local/durable-file.js";
import { factsOfFile, filesUnder, readPieces, readRangeOf, unlessMissing } from "../local/local-files.js";
import { STAGING, timeOf } from "../local/work-folder.js";
import type { Storage } from "./storage.js";

/**
 * A lake in a folder of a file system that has hard links. Texts are written to the folder's staging first: a link, or
 * for `put` a rename, makes them visible.
 */
export function folderStorage(folder: string): Storage {
  const root = resolve(folder);
  const staging = join(root, STAGING);
  const full = (path: string): string => join(root, path);
  const listFolder = folderLists();
  return {
    location: root,
    access: undefined,
    urlOf: full,
    list: async (path) => (await unlessMissing(() => listFolder(full(path)))) ?? [],
    walk: (path) => filesUnder(full(path)),
    factsOf: (path) => factsOfFile(full(path)),
    readText: (path) => unlessMissing(() => readFile(full(path), "utf8")),
    read: (path) => unlessMissing(() => readPieces(full(path))),
    readRange: (path, range) => unlessMissing(() => readRangeOf(full(path), range)),
    putIfAbsent: (path, text) =>
      writing(full(path), () => withStagedText(staging, text, (staged) => linkNew(root, staged, full(path)))),
    put: (path, text) =>
      writing(full(path), () =>
        withStagedText(staging, text, async (staged) => {
          await makeFolders(root, dirname(full(path)));
          await rename(staged, full(path));
          await syncFolder(dirname(full(path)));
        }),
      ),
    putFileIfAbsent: (localFile, path) =>
      writing(full(path), async () => {
        await syncFile(localFile);
        return linkNew(root, localFile, full(path));
      }),
    delete: (path) => rm(full(path), { force: true }),
    time: () => timeOf(staging),
    leases: (path) => {
      const leases = folderLeases(full(path), { timeFolder: staging });
      return { ...leases, create: (...record) => writing(full(path), () => leases.create(...record)) };
    },
  };
}

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
