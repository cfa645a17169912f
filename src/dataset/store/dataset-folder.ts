import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Lake } from "../../lake/lake.js";
import { stateOf, thisProcess } from "../../lease/owner.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import type { DatasetSpec } from "../spec.js";

/** A machine in the name of an unfinished folder. */
const MACHINE = /^[0-9a-f]{32}$/;

/** Name of the folder of a lake's datasets. */
export const DATASETS = "datasets";

/** The folder of a dataset, or its prefix in a store, which may not exist yet. */
export function folderOf(lake: Lake, { name, format, output }: DatasetSpec): string {
  if (output === undefined) return lake.storage.urlOf(`${DATASETS}/${name}/${format}`);
  return isObjectUrl(output) ? output.replace(/\/$/, "") : resolve(output);
}

/**
 * Creates a folder completely or not at all: next to its final place, then renamed when `write` is done. The old folder
 * stays until then. {@link recoverFolder} repairs a crash between the two renames.
 *
 * @param options.replace whether an existing folder may be replaced.
 * @throws {BarlakeError} where the disk is full, {@link UsageError} where the folder exists and may not be replaced.
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

/** The error for a folder that may not be replaced: it existed, or another process has created it since. */
export function alreadyThere(folder: string, cause?: unknown): UsageError {
  return new UsageError(`dataset folder ${folder} is there already`, {
    cause,
    hint: "--append adds new days to it, --replace builds it again; or name another place with --output",
  });
}

/** Restores a folder that was moved away before a crash, and deletes the unfinished folders of dead processes. */
export async function recoverFolder(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch((): string[] => []);
  const start = `.${basename(folder)}.`;
  for (const name of names.filter((one) => one.startsWith(start))) {
    const [, kind, machine = "", pid] =
      /^(draft|old)-(.+)-(\d+)-[0-9a-f-]{36}$/.exec(name.slice(start.length)) ?? [];
    // Earlier releases wrote the host's name instead of the machine.
    const host = MACHINE.test(machine) ? { host: "", machine } : { host: machine };
    // Processes of another machine cannot be checked from here.
    if (kind === undefined || stateOf({ ...host, pid: Number(pid) }) !== "ended") continue;
    const path = join(dirname(folder), name);
    if (kind === "old" && !existsSync(folder)) await rename(path, folder).catch(unlessMissing);
    else await rm(path, { recursive: true, force: true });
  }
}

/** A new name for an unfinished folder: it names the process that owns it. */
function beside(folder: string, kind: "draft" | "old"): string {
  const { machine, pid } = thisProcess();
  return join(dirname(folder), `.${basename(folder)}.${kind}-${machine}-${pid}-${randomUUID()}`);
}

/** Another process may have restored, or removed, the same folder at the same time. */
function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
