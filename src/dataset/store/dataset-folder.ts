import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { BarlakeError, messageOf, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Lake } from "../../lake/lake.js";
import { filesUnder } from "../../lake/local/local-files.js";
import { timeIn } from "../../lease/folder-leases.js";
import { MACHINE, nameOfOwner, type Owner, stateOf, thisProcess } from "../../lease/owner.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import type { DatasetSpec } from "../spec.js";
import { DIGESTS } from "./dataset-files.js";
import { MANIFEST, type Manifest, readManifest } from "./manifest.js";

/** Entries of a folder that are deleted before the event loop can run other work: about a millisecond. */
const TURN_ENTRIES = 256;

/**
 * Deletes a folder and all that is in it, if it exists; of a link, not what it leads to. Some hundred files at a time,
 * then other work may run: a promise for each file takes three times the processor time. @throws what the system throws
 * for a file that cannot be deleted.
 */
export async function removeFolder(path: string): Promise<void> {
  // What cannot be deleted this way, or comes while its folder is deleted, is tried again by Node's own rules.
  await removeQuickly(path).catch(() => {});
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

async function removeQuickly(path: string): Promise<void> {
  // A dataset's folder may be a link: the names in it would be those of another folder.
  if (!lstatSync(path).isDirectory()) return;
  for (const [at, entry] of readdirSync(path, { withFileTypes: true }).entries()) {
    if (at > 0 && at % TURN_ENTRIES === 0) await setImmediate();
    const own = `${path}/${entry.name}`;
    if (entry.isDirectory()) await removeQuickly(own);
    else unlinkSync(own);
  }
  rmdirSync(path);
  await setImmediate();
}

/** A machine in the name of an unfinished folder of earlier releases. */
const EARLIER_MACHINE = /^[0-9a-f]{32}$/;
/** Time without a change after which an unfinished folder of a process that cannot be checked is given up. */
const SILENT_MS = 3_600_000;

const MACHINE_LENGTH = 38;

const DATASETS = "datasets";

/** The folder of a dataset, or its prefix in a store, which may not exist yet. */
export function folderOf(lake: Lake, { name, format, output }: DatasetSpec): string {
  if (output === undefined) return lake.storage.urlOf(`${DATASETS}/${name}/${format}`);
  return isObjectUrl(output) ? output.replace(/\/$/, "") : resolve(output);
}

/**
 * Changes a dataset in its place: what `write` puts into a folder next to it is moved over its files, in this order:
 * the list of files, so that it names all that is there; most files; `calendars/`, up to which readers of qlib's files
 * read; the manifest. A dataset whose list is not that of its manifest is written again by the next build. @throws as
 * {@link makeFolder}
 */
export async function continueFolder<T>(folder: string, write: (draft: string) => Promise<T>): Promise<T> {
  return inDraft(folder, async (draft) => {
    const made = await write(draft);
    const order = (path: string): number =>
      path === DIGESTS ? 0 : path === MANIFEST ? 3 : path.startsWith("calendars/") ? 2 : 1;
    const paths = (await filesUnder(draft)).map(({ path }) => path).sort((a, b) => order(a) - order(b));
    for (const path of paths) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      renameSync(join(draft, path), join(folder, path));
    }
    return made;
  });
}

/**
 * Creates a folder completely or not at all: next to its final place, then renamed when `write` is done. The old folder
 * remains until then. Between the two renames there is no folder: Node has no call that exchanges two; {@link
 * recoverFolder} repairs a crash there. @param options.expectReplaceable throws where the old folder must not be
 * deleted; called just before the renames. @throws {BarlakeError} where the disk is full, {@link UsageError} where the
 * folder exists and may not be replaced.
 */
export async function makeFolder<T>(
  folder: string,
  {
    replace,
    expectReplaceable,
  }: { readonly replace: boolean; readonly expectReplaceable?: () => Promise<void> },
  write: (draft: string) => Promise<T>,
): Promise<T> {
  const old = unfinishedName(folder, "old");
  return inDraft(folder, async (draft) => {
    try {
      const made = await write(draft);
      if (replace) await expectReplaceable?.();
      exchange({ draft, folder, old: replace && existsSync(folder) ? old : undefined });
      await removeFolder(old);
      return made;
    } finally {
      if (!existsSync(folder) && existsSync(old)) await rename(old, folder);
    }
  });
}

/** Uses a new folder next to another one; what is left of it is deleted. */
async function inDraft<T>(folder: string, use: (draft: string) => Promise<T>): Promise<T> {
  await mkdir(dirname(folder), { recursive: true });
  const draft = unfinishedName(folder, "draft");
  try {
    await mkdir(draft);
    return await use(draft);
  } catch (cause) {
    const fault = cause instanceof BarlakeError ? undefined : writeFaultOf(cause, folder);
    throw fault === undefined ? cause : new BarlakeError(fault.message, { hint: fault.hint, cause });
  } finally {
    // Where one of several files could not be written, another one may come while the folder is deleted.
    await removeFolder(draft);
  }
}

function exchange({
  draft,
  folder,
  old,
}: {
  readonly draft: string;
  readonly folder: string;
  readonly old: string | undefined;
}): void {
  if (old !== undefined) renameSync(folder, old);
  try {
    renameSync(draft, folder);
  } catch (cause) {
    throw existsSync(folder) ? alreadyThere(folder, cause) : cause;
  }
}

/** The error for a folder that may not be replaced: it existed, or another process has created it since. */
export function alreadyThere(folder: string, cause?: unknown): UsageError {
  return new UsageError(`dataset folder ${folder} is there already`, {
    cause,
    hint: '`existing: "append"` adds new days to it, `existing: "replace"` builds it again; or name another place with `output`',
  });
}

interface Unfinished {
  readonly path: string;
  readonly kind: "draft" | "old";
  readonly owner: string;
  /** "ended" also where its process cannot be checked, had this host's name, and has been silent for an hour. */
  readonly state: "running" | "ended" | "unknown";
  /** Whether a process may be about to rename it. */
  readonly isInUse: boolean;
  /** When its name or its entries changed last, in epoch milliseconds. */
  readonly changedAt: number;
}

/** An earlier dataset that was moved away, and not put back. */
interface MovedAway {
  readonly path: string;
  /** The process that may be about to replace it; undefined where something else is in its place. */
  readonly owner: string | undefined;
}

/**
 * Restores a dataset that was moved away before a crash, and deletes the unfinished folders of dead processes. @returns
 * the earlier dataset where it is not put back, because a process may be about to replace it, or something that is no
 * dataset is in its place.
 */
export async function recoverFolder(folder: string): Promise<MovedAway | undefined> {
  const found = await unfinishedOf(folder);
  const user = found.find((one) => one.kind === "draft" && one.isInUse);
  let left: MovedAway | undefined;
  // The newest first: an earlier one may be half deleted.
  for (const { path, kind, state, owner } of found.sort((a, b) => b.changedAt - a.changedAt)) {
    if (kind === "draft" || existsSync(join(folder, MANIFEST))) {
      if (state === "ended") await removeFolder(path);
    } else if (existsSync(folder)) left ??= { path, owner: undefined };
    else if (state === "running" || user !== undefined) left ??= { path, owner: user?.owner ?? owner };
    else await rename(path, folder).catch(unlessMissing);
  }
  // Another process may have put it back, or replaced it, in the meantime.
  return left !== undefined && existsSync(left.path) && !existsSync(join(folder, MANIFEST))
    ? left
    : undefined;
}

export function movedAway(folder: string, { path, owner }: MovedAway): UsageError {
  return new UsageError(`dataset ${folder}: was moved to ${path} by ${owner}, which is to replace it`, {
    hint: `wait until that process has ended; if it has, put the dataset back: mv ${path} ${folder}`,
  });
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
      owner: nameOfOwner({ host: host === "" ? "another machine" : host, pid: Number(pid) }),
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

function unfinishedName(folder: string, kind: "draft" | "old"): string {
  const { host, machine, pid } = thisProcess();
  const owner = MACHINE.test(machine) ? `${host}-${machine}` : host;
  return join(dirname(folder), `.${basename(folder)}.${kind}-${owner}-${pid}-${randomUUID()}`);
}

/** Another process may have restored, or removed, the same folder at the same time. */
function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

export interface FoundDataset {
  readonly folder: string;
  readonly manifest: Manifest | undefined;
  readonly fault: string | undefined;
}

/** The datasets in a lake's own folder, by name and format; those written elsewhere are not included. */
export async function listDatasets(lake: Lake): Promise<FoundDataset[]> {
  if (lake.storage.access !== undefined) return listPrefixes(lake);
  const root = lake.storage.urlOf(DATASETS);
  const found: FoundDataset[] = [];
  for (const name of await foldersIn(root)) {
    const formats = await foldersIn(join(root, name), true);
    const faults = new Map<string, string>();
    for (const format of new Set(formats)) {
      const folder = join(root, name, format);
      const left = await recoverFolder(folder);
      if (left?.owner !== undefined) faults.set(format, messageOf(movedAway(folder, left)));
    }
    const all = new Set([...(await foldersIn(join(root, name))), ...faults.keys()]);
    for (const format of [...all].sort()) {
      const folder = join(root, name, format);
      const fault = faults.get(format);
      found.push(
        fault === undefined ? await readDataset(lake, folder) : { folder, manifest: undefined, fault },
      );
    }
  }
  return found;
}

async function listPrefixes(lake: Lake): Promise<FoundDataset[]> {
  const found: FoundDataset[] = [];
  for (const name of await lake.storage.list(DATASETS))
    for (const format of await lake.storage.list(`${DATASETS}/${name}`))
      found.push(await readDataset(lake, lake.storage.urlOf(`${DATASETS}/${name}/${format}`)));
  return found;
}

async function readDataset(lake: Lake, folder: string): Promise<FoundDataset> {
  try {
    return { folder, manifest: await readManifest(lake.storageAt(folder)), fault: undefined };
  } catch (error) {
    return { folder, manifest: undefined, fault: messageOf(error) };
  }
}

/** Folders in a folder, by name. `moved`: folders that a crash left moved away, by their original names. */
async function foldersIn(folder: string, moved = false): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  if (!moved) return names.filter((name) => !name.startsWith(".")).sort();
  return names.flatMap((name) => /^\.(.+)\.old-.+-\d+-[0-9a-f-]{36}$/.exec(name)?.[1] ?? []);
}
