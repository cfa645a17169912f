import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkFolder } from "./work-folder.js";

/**
 * Heartbeats are the modification times of files, by the clock of the file system. The clocks of the machines that
 * share a lake differ, and with a difference of a minute a running process would count as dead.
 */

/** Sets the modification time of a JSON file to now: writes its first character, `{`, again. */
export async function touch(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.write("{", 0);
  } finally {
    await file.close();
  }
}

/** The current time by a folder's file system, in epoch milliseconds. @throws where no file can be written there. */
export async function timeIn(folder: string): Promise<number> {
  const path = join(folder, `${randomUUID()}.time`);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(path, "");
    return (await stat(path)).mtimeMs;
  } finally {
    await rm(path, { force: true });
  }
}

/** The current time by the file system of a work folder, in epoch milliseconds; undefined where there is no folder. */
export async function timeOf({ path, staging }: WorkFolder): Promise<number | undefined> {
  return existsSync(path) ? timeIn(staging) : undefined;
}
