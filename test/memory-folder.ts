import { mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** A file system in memory, as Linux has it. */
const MEMORY = "/dev/shm";
/** Free bytes that all tests fit into several times; a container often has 64 MB. */
const ENOUGH = 4 * 2 ** 30;
const NAME = /^barlake-tests-(\d+)-/;

/**
 * Gives this process and those that it starts a temporary folder in memory, if the machine has one with enough space
 * and `TMPDIR` names no other: a third of the time of the tests was waiting for the disk. The folder is deleted when
 * this process ends; that of a process that was killed, by the next run.
 */
export function useMemoryFolder(): void {
  if (process.env.TMPDIR !== undefined || !hasSpace()) return;
  for (const name of readdirSync(MEMORY)) {
    const owner = NAME.exec(name)?.[1];
    if (owner !== undefined && !isRunning(Number(owner))) deleteFolder(join(MEMORY, name));
  }
  const folder = mkdtempSync(join(MEMORY, `barlake-tests-${process.pid}-`));
  process.env.TMPDIR = folder;
  process.once("exit", () => deleteFolder(folder));
}

function hasSpace(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process of another user is there, and cannot be signalled.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function deleteFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Of another user, or a process still writes into it: the next run deletes it.
  }
}
