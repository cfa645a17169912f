import { readFile, rename, rm } from "node:fs/promises";
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
import { folderLists } from "./folder-lists.js";
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
