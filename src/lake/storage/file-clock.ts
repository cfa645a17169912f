import { randomUUID } from "node:crypto";
import { mkdir, open, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Signs of life are times of files, by the clock of the file system that keeps them. The clocks of the machines that share
 * a lake differ, and a difference of a minute made a process that lives count as dead.
 */

/** Gives a file of JSON the time of now. Its content stays: the first character is written again. */
export async function touch(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.write("{", 0);
  } finally {
    await file.close();
  }
}

/** What time it is in a folder, in epoch milliseconds. @throws where no file can be written there. */
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
