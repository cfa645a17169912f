import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Lake } from "../../lake/lake.js";
import { timeIn } from "../../lease/folder-leases.js";
import { MACHINE, type Owner, stateOf, thisProcess } from "../../lease/owner.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import type { DatasetSpec } from "../spec.js";

/** A machine in the name of an unfinished folder of earlier releases. */
const EARLIER_MACHINE = /^[0-9a-f]{32}$/;
/** Time without a change after which an unfinished folder of a process that cannot be checked is given up. */
const SILENT_MS = 3_600_000;

const MACHINE_LENGTH = 38;

/** Name of the folder of a lake's datasets. */
export const DATASETS = "datasets";

/** The folder of a dataset, or its prefix in a store, which may not exist yet. */
export function folderOf(lake: Lake, { name, format, output }: DatasetSpec): string {
  if (output === undefined) return lake.storage.urlOf(`${DATASETS}/${name}/${format}`);
  return isObjectUrl(output) ? output.replace(/\/$/, "") : resolve(output);
}

/**
 * Creates a folder completely or not at all: next to its final place, then renamed when `write` is done. The old folder
 * remains until then. {@link recoverFolder} repairs a crash between the two renames.
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
  const draft = unfinishedName(folder, "draft");
  const old = unfinishedName(folder, "old");
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
    // Where one of several files could not be written, another one may come while the folder is deleted.
    await rm(draft, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The error for a folder that may not be replaced: it existed, or another process has created it since. */
export function alreadyThere(folder: string, cause?: unknown): UsageError {
  return new UsageError(`dataset folder ${folder} is there already`, {
    cause,
    hint: '`existing: "append"` adds new days to it, `existing: "replace"` builds it again; or name another place with `output`',
  });
}

/** An unfinished folder next to a dataset's. */
interface Unfinished {
  readonly path: string;
  readonly kind: "draft" | "old";
  /** "ended" also where its process cannot be checked, had this host's name, and has been silent for an hour. */
  readonly state: "running" | "ended" | "unknown";
  /** Whether a process may be about to rename it. */
  readonly isInUse: boolean;
  /** When its name or its entries changed last, in epoch milliseconds. */
  readonly changedAt: number;
}

/** Restores a folder that was moved away before a crash, and deletes the unfinished folders of dead processes. */
export async function recoverFolder(folder: string): Promise<void> {
  const found = await unfinishedOf(folder);
  const isInUse = found.some((one) => one.kind === "draft" && one.isInUse);
  // The newest first: an earlier one may be half deleted.
  for (const { path, kind, state } of found.sort((a, b) => b.changedAt - a.changedAt)) {
    if (kind === "old" && !existsSync(folder)) {
      // A process that moves the folder away has its draft next to it.
      if (state !== "running" && !isInUse) await rename(path, folder).catch(unlessMissing);
    } else if (state === "ended") await rm(path, { recursive: true, force: true });
  }
}

async function unfinishedOf(folder: string): Promise<Unfinished[]> {
  const parent = dirname(folder);
  const names = await readdir(parent).catch((): string[] => []);
  const start = `.${basename(folder)}.`;
  const found: Unfinished[] = [];
  let now: number | undefined;
  for (const name of names.filter((one) => one.startsWith(start))) {
    const [, kind, owner = "", pid] =
      /^(draft|old)-(.+)-(\d+)-[0-9a-f-]{36}$/.exec(name.slice(start.length)) ?? [];
    if (kind !== "draft" && kind !== "old") continue;
    const path = join(parent, name);
    const entry = await stat(path).catch(unlessMissing);
    if (entry === undefined) continue;
    const { host, machine } = ownerIn(owner);
    const state = stateOf({ host, machine, pid: Number(pid) });
    // By the clock of the file system; where nothing can be written, nothing can be recovered.
    if (state === "unknown") now ??= await timeIn(parent).catch(() => Number.NEGATIVE_INFINITY);
    const isSilent = state === "unknown" && now !== undefined && now - entry.mtimeMs > SILENT_MS;
    const isOfHost = host === hostname();
    found.push({
      path,
      kind,
      state: isSilent && isOfHost ? "ended" : state,
      isInUse: state === "running" || (state === "unknown" && !isOfHost && !isSilent),
      changedAt: entry.ctimeMs,
    });
  }
  return found;
}

/** The owner in the name of an unfinished folder. Earlier releases wrote the host alone, or the machine alone. */
function ownerIn(text: string): Pick<Owner, "host" | "machine"> {
  if (EARLIER_MACHINE.test(text)) return { host: "", machine: text };
  const [host, machine] = [text.slice(0, -MACHINE_LENGTH - 1), text.slice(-MACHINE_LENGTH)];
  return MACHINE.test(machine) ? { host, machine } : { host: text };
}

/** A new name for an unfinished folder: it names the process that owns it. */
function unfinishedName(folder: string, kind: "draft" | "old"): string {
  const { host, machine, pid } = thisProcess();
  const owner = MACHINE.test(machine) ? `${host}-${machine}` : host;
  return join(dirname(folder), `.${basename(folder)}.${kind}-${owner}-${pid}-${randomUUID()}`);
}

/** Another process may have restored, or removed, the same folder at the same time. */
function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
