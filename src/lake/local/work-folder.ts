import { randomUUID } from "node:crypto";
import { accessSync, constants, mkdirSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeFolder } from "../../db/session/open-database.js";
import { timeIn } from "../../lease/folder-leases.js";
import type { Storage, StoredFile } from "../storage/storage.js";
import { writing } from "./durable-file.js";
import { filesUnder, unlessMissing } from "./local-files.js";

/** Name of the folder for unfinished files, outside every table. */
export const STAGING = ".staging";

/**
 * A folder on a disk of this machine, for data that is not, or not yet, part of a lake: files that are being written,
 * spilled data, received responses (`spool/`), and `lake.duckdb`. For a lake in a folder it is the lake's folder, so that
 * a finished file becomes a file of the lake by a link.
 */
export interface WorkFolder {
  /** Absolute path. */
  readonly path: string;
  /** Absolute path of the folder of unfinished files and spilled data. */
  readonly staging: string;
  /** The database of views that any DuckDB client of this machine can open. */
  readonly databaseFile: string;
  /** Returns a new path for a file that is about to be written. Its writer calls {@link discard} at the end. */
  newFile(extension: string): Promise<string>;
  /** Writes pieces to a file; the content need not be durable. */
  write(path: string, pieces: Iterable<string> | AsyncIterable<Uint8Array>): Promise<void>;
  /** Deletes an unfinished file, if it exists. */
  discard(path: string): Promise<void>;
  /**
   * Lists the unfinished files. Those of killed processes remain until they are deleted. Paths are relative to
   * {@link staging}.
   */
  unfinished(): Promise<StoredFile[]>;
  /** Deletes one of the {@link unfinished} files. */
  deleteUnfinished(path: string): Promise<void>;
  /**
   * The current time by the clock of its file system, in epoch milliseconds; undefined where the folder does not exist.
   */
  time(): Promise<number | undefined>;
}

/** Where a lake is: its storage, and the folder of this machine for unfinished work. */
export interface LakePlaces {
  readonly storage: Storage;
  readonly work: WorkFolder;
}

/**
 * Options that make the session of a reader spill into the work folder; empty where that folder is absent or read-only,
 * so that the session spills into its default folder.
 */
export function spillOptions({ staging }: WorkFolder): { readonly spillUnder?: string } {
  try {
    if (!makeFolder(staging)) return {};
    accessSync(staging, constants.W_OK);
    return { spillUnder: staging };
  } catch {
    return {};
  }
}

/** Options that make the session of a writer spill into the work folder, which is made where it is missing. */
export function writerSpillOptions({ staging }: WorkFolder): { readonly spillUnder: string } {
  mkdirSync(staging, { recursive: true });
  return { spillUnder: staging };
}

/**
 * The unfinished files of a process that only reads a lake: in the work folder, or in the folder of the system's temporary
 * files where that is absent or read-only.
 */
export function readersWork(work: WorkFolder): Pick<WorkFolder, "newFile" | "discard"> {
  return {
    async newFile(extension) {
      const { spillUnder } = spillOptions(work);
      if (spillUnder === undefined) return workFolder(tmpdir()).newFile(extension);
      return join(spillUnder, `${randomUUID()}.${extension}`);
    },
    discard: (file) => work.discard(file),
  };
}

/**
 * The current time by the clock of a folder of unfinished files, in epoch milliseconds; undefined where the folder that it
 * is in does not exist.
 */
export async function timeOf(staging: string): Promise<number | undefined> {
  return makeFolder(staging) ? unlessMissing(() => timeIn(staging)) : undefined;
}

/** Makes the work folder at a path. Nothing is created before the first file. */
export function workFolder(folder: string): WorkFolder {
  const path = resolve(folder);
  const staging = join(path, STAGING);
  return {
    path,
    staging,
    databaseFile: join(path, "lake.duckdb"),
    async newFile(extension) {
      await writing(staging, () => mkdir(staging, { recursive: true }));
      return join(staging, `${randomUUID()}.${extension}`);
    },
    write: (file, pieces) => writing(file, () => writeFile(file, pieces)),
    discard: (file) => rm(file, { force: true }),
    unfinished: () => filesUnder(staging),
    deleteUnfinished: (file) => rm(join(staging, file), { force: true }),
    time: () => timeOf(staging),
  };
}
