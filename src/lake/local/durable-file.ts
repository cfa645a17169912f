import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { access, link, mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { LakeError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Storage } from "../storage/storage.js";

/** Runs a write. @throws {LakeError} with the reason, where it fails because of the disk. */
export async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    const fault = writeFaultOf(cause, path);
    throw fault === undefined ? cause : new LakeError(fault.message, { hint: fault.hint, cause });
  }
}

/** Writes a text durably to a new file in a folder, runs `use` with its path and deletes it afterwards. */
export async function withStagedText<T>(
  folder: string,
  text: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${randomUUID()}.put`);
  try {
    await writeFile(path, text, { flush: true });
    return await use(path);
  } finally {
    await rm(path, { force: true });
  }
}

/** Gives a finished file a second name, durably, unless that name is taken. @returns whether the name was free. */
export async function linkNew(root: string, file: string, target: string): Promise<boolean> {
  await makeFolders(root, dirname(target));
  if (!(await linkIfAbsent(file, target))) return false;
  await syncFolder(dirname(target));
  return true;
}

/** Gives a file a second name, unless that name exists. @returns false where it exists */
export async function linkIfAbsent(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Makes a folder and the missing folders above it, up to the root. Each is recorded durably in its parent. */
export async function makeFolders(root: string, folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length && made !== root; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a folder's entries durable. It does nothing on Windows, which does not open folders. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Makes sure that this user may create files in a folder; where it does not exist yet, that it may be created.
 *
 * @throws {LakeError} with the reason.
 */
export async function expectWritable(folder: string): Promise<void> {
  if (!existsSync(folder) && dirname(folder) !== folder) return expectWritable(dirname(folder));
  await writing(`${folder}/`, () => access(folder, constants.W_OK | constants.X_OK));
}

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
