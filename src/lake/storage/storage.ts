import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import pMap from "p-map";
import { LakeError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { folderLists } from "./folder-lists.js";

/** Folder of unfinished files, outside every table. */
export const STAGING = ".staging";

/** A file in a storage. */
export interface StoredFile {
  /** Relative to the folder that was listed, with `/`. */
  readonly path: string;
  readonly size: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

/**
 * Where a lake's files are. Paths are relative to the lake, with `/`. A file is complete as soon as it is visible, and
 * it never changes unless `put` replaces it.
 */
export interface Storage {
  /** Where DuckDB finds a file. */
  urlOf(path: string): string;
  /**
   * Names of all entries of a folder; none if it does not exist. Returns the same array while the folder is unchanged.
   */
  list(folder: string): Promise<readonly string[]>;
  /** All files under a folder; none if the folder does not exist. */
  walk(folder: string): Promise<StoredFile[]>;
  /** @returns the file's text, or undefined where there is none. */
  readText(path: string): Promise<string | undefined>;
  /** Creates a file, durably, unless one of that name exists. @returns whether it was created. */
  putIfAbsent(path: string, text: string): Promise<boolean>;
  /** Writes a file durably and replaces one of that name: readers see either the old or the new file, complete. */
  put(path: string, text: string): Promise<void>;
  /** A new local file path for DuckDB to write to, outside every table. */
  stagingFile(extension: string): Promise<string>;
  /**
   * Makes a finished staged file part of the lake, durably, unless one of that name exists.
   * @returns whether it did.
   */
  moveIn(stagedFile: string, path: string): Promise<boolean>;
  /** Deletes a staged file, if it is there. */
  discard(stagedFile: string): Promise<void>;
  /** Deletes a file of the lake that no commit names. */
  delete(path: string): Promise<void>;
}

/** A lake in a folder of this machine. */
export function localStorage(folder: string): Storage {
  const root = resolve(folder);
  const staging = join(root, STAGING);
  const full = (path: string): string => join(root, path);
  const listFolder = folderLists();
  return {
    urlOf: full,
    async list(path) {
      try {
        return await listFolder(full(path));
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
    },
    async walk(path) {
      const names = await readdir(full(path), { recursive: true }).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      });
      const found = await pMap(names, async (name) => statOf(full(path), name), { concurrency: 16 });
      return found.filter((file) => file !== undefined);
    },
    async readText(path) {
      try {
        return await readFile(full(path), "utf8");
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async putIfAbsent(path, text) {
      return writing(full(path), () =>
        staged(staging, text, (temporary) => linkNew(root, temporary, full(path))),
      );
    },
    async put(path, text) {
      return writing(full(path), () =>
        staged(staging, text, async (temporary) => {
          await makeFolders(root, dirname(full(path)));
          await rename(temporary, full(path));
          await syncFolder(dirname(full(path)));
        }),
      );
    },
    async stagingFile(extension) {
      await writing(staging, () => mkdir(staging, { recursive: true }));
      return join(staging, `${randomUUID()}.${extension}`);
    },
    async moveIn(stagedFile, path) {
      return writing(full(path), async () => {
        await syncFile(stagedFile);
        const isNew = await linkNew(root, stagedFile, full(path));
        if (isNew) await rm(stagedFile, { force: true });
        return isNew;
      });
    },
    async discard(stagedFile) {
      await rm(stagedFile, { force: true });
    },
    async delete(path) {
      await rm(full(path), { force: true });
    },
  };
}

/** The path, size and time of a file; undefined for a folder, and for a file that was deleted in the meantime. */
async function statOf(folder: string, name: string): Promise<StoredFile | undefined> {
  try {
    const found = await stat(join(folder, name));
    if (!found.isFile()) return undefined;
    return { path: name.split(sep).join("/"), size: found.size, modifiedAt: found.mtimeMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Runs a write; where it fails because of the disk, the error says why. @throws {LakeError} */
async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    const fault = writeFaultOf(cause, path);
    throw fault === undefined ? cause : new LakeError(fault.message, { hint: fault.hint, cause });
  }
}

/** Writes a text durably to a new file outside every table, runs `use` with it and deletes it afterwards. */
async function staged<T>(folder: string, text: string, use: (path: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${randomUUID()}.put`);
  try {
    await writeFile(path, text, { flush: true });
    return await use(path);
  } finally {
    await rm(path, { force: true });
  }
}

/** Gives a finished file a name, durably, unless that name is taken. @returns whether the name was free. */
async function linkNew(root: string, file: string, target: string): Promise<boolean> {
  await makeFolders(root, dirname(target));
  try {
    await link(file, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  await syncFolder(dirname(target));
  return true;
}

/** Makes a folder and those above it up to the root, each recorded durably in its parent. */
async function makeFolders(root: string, folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length && made !== root; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a folder's entries durable. Windows has no such call, and does not open folders. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
