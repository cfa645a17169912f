import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LeaseRecord, LeaseState, LeaseStore } from "./lease-store.js";

/**
 * The first byte of a record's file is the state of the lease: white space, which JSON permits before an object. A
 * record is renewed by writing this byte again. This sets the file's modification time by the clock of the file system,
 * and cannot create a file.
 */
const STATES: Readonly<Record<LeaseState, string>> = { waiting: " ", acquired: "\n" };
/** Most attempts to create a folder that another process removes at the same time, together with its last record. */
const ATTEMPTS = 10;

interface FolderLeaseOptions {
  /** The ending of the names of the records' files. @default ".json" */
  readonly ending?: string;
  /** The folder in which a file is created to read the time of the file system. @default the folder of the records */
  readonly timeFolder?: string;
  /** Whether only this user may read the records. @default false */
  readonly isPrivate?: boolean;
}

/**
 * A store of leases in a folder that all processes can reach. Each record is a file with a JSON object. The folder
 * exists as long as it has records.
 */
export function folderLeases(folder: string, options: FolderLeaseOptions = {}): LeaseStore {
  const { ending = ".json", timeFolder = folder, isPrivate = false } = options;
  const fileOf = (id: string): string => join(folder, id + ending);
  const [folderMode, fileMode] = isPrivate ? [0o700, 0o600] : [0o777, 0o666];
  return {
    async ids() {
      const names = (await unlessMissing(readdir(folder))) ?? [];
      return names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
    },
    read: (id) => unlessMissing(readRecord(fileOf(id))),
    async create(id, text, state) {
      const draft = join(folder, `${randomUUID()}.draft`);
      for (let attempt = 1; ; attempt++) {
        try {
          await mkdir(folder, { recursive: true, mode: folderMode });
          await writeFile(draft, STATES[state] + text, { mode: fileMode });
          return await rename(draft, fileOf(id));
        } catch (error) {
          await rm(draft, { force: true }).catch(() => {});
          if (!isMissing(error) || attempt === ATTEMPTS) throw error;
        }
      }
    },
    renew: async (id, state) => (await unlessMissing(writeState(fileOf(id), state))) ?? false,
    async remove(id, renewedAt) {
      const path = fileOf(id);
      if (renewedAt !== undefined) {
        const found = await unlessMissing(stat(path));
        if (found !== undefined && found.mtimeMs !== renewedAt) return false;
      }
      await rm(path, { force: true });
      return true;
    },
    async now() {
      await mkdir(timeFolder, { recursive: true });
      return timeIn(timeFolder);
    },
    tidy: () => rmdir(folder).catch(() => {}),
  };
}

/**
 * The current time by the clock of a folder's file system, in epoch milliseconds. @throws where no file can be written
 * there.
 */
export async function timeIn(folder: string): Promise<number> {
  const path = join(folder, `${randomUUID()}.time`);
  try {
    await writeFile(path, "");
    return (await stat(path)).mtimeMs;
  } finally {
    await rm(path, { force: true });
  }
}

async function readRecord(path: string): Promise<LeaseRecord> {
  const file = await open(path, "r");
  try {
    const { mtimeMs: renewedAt } = await file.stat();
    const text = await file.readFile("utf8");
    return {
      text: text.trimStart(),
      state: text.startsWith(STATES.waiting) ? "waiting" : "acquired",
      renewedAt,
    };
  } finally {
    await file.close();
  }
}

async function writeState(path: string, state: LeaseState): Promise<boolean> {
  const file = await open(path, "r+");
  try {
    await file.write(STATES[state], 0);
    return true;
  } finally {
    await file.close();
  }
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
