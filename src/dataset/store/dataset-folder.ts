import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Lake } from "../../lake/lake.js";
import type { DatasetSpec } from "../spec.js";

/** Folder of a lake's datasets. */
export const DATASETS = "datasets";

/** Where a dataset is, or will be. */
export function folderOf(lake: Lake, { name, format, output }: DatasetSpec): string {
  return output === undefined ? join(lake.folder, DATASETS, name, format) : resolve(output);
}

/**
 * Makes a folder whole or not at all: beside its place, and put there by renames once `write` is done. What was there
 * before stays until then. {@link recoverFolder} mends what a crash between the two renames leaves.
 *
 * @param options.replace whether what is there may be replaced.
 * @throws {BarlakeError} where the disk takes no more, {@link UsageError} where it is there and may not be replaced.
 */
export async function makeFolder<T>(
  folder: string,
  { replace }: { readonly replace: boolean },
  write: (draft: string) => Promise<T>,
): Promise<T> {
  await mkdir(dirname(folder), { recursive: true });
  const draft = beside(folder, "draft");
  const old = beside(folder, "old");
  try {
    await mkdir(draft);
    const made = await write(draft);
    if (replace && existsSync(folder)) await rename(folder, old);
    await rename(draft, folder).catch((cause: unknown) => {
      throw existsSync(folder) ? alreadyThere(folder, cause) : cause;
    });
    await rm(old, { recursive: true, force: true });
    return made;
  } catch (cause) {
    const fault = cause instanceof BarlakeError ? undefined : writeFaultOf(cause, folder);
    throw fault === undefined ? cause : new BarlakeError(fault.message, { hint: fault.hint, cause });
  } finally {
    if (!existsSync(folder) && existsSync(old)) await rename(old, folder);
    await rm(draft, { recursive: true, force: true });
  }
}

/** Of a folder that may not be replaced: it was there, or another process has made it meanwhile. */
export function alreadyThere(folder: string, cause?: unknown): UsageError {
  return new UsageError(`dataset folder ${folder} is there already`, {
    cause,
    hint: "--append adds new days to it, --replace makes it anew; or name another place with --output",
  });
}

/** Puts back what a crash left moved away, and deletes what dead processes left half-made. */
export async function recoverFolder(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch((): string[] => []);
  const start = `.${basename(folder)}.`;
  for (const name of names.filter((one) => one.startsWith(start))) {
    const [, kind, host, pid] = /^(draft|old)-(.+)-(\d+)-[0-9a-f-]{36}$/.exec(name.slice(start.length)) ?? [];
    // Of another machine's processes nothing is known here.
    if (kind === undefined || host !== hostname() || isAlive(Number(pid))) continue;
    const path = join(dirname(folder), name);
    if (kind === "old" && !existsSync(folder)) await rename(path, folder);
    else await rm(path, { recursive: true, force: true });
  }
}

function beside(folder: string, kind: "draft" | "old"): string {
  return join(dirname(folder), `.${basename(folder)}.${kind}-${hostname()}-${process.pid}-${randomUUID()}`);
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
