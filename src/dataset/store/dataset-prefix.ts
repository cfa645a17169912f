import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";
import { UsageError } from "../../core/errors.js";
import { firstNames } from "../../core/text-order.js";
import { filesUnder } from "../../lake/local/local-files.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import type { Storage } from "../../lake/storage/storage.js";
import {
  type BuildClaim,
  claimPrefix,
  filesOfDataset,
  foreignFiles,
  isAbandoned,
  refuseForeignFiles,
} from "./build-mark.js";
import { alreadyThere, movedAway, recoverFolder } from "./dataset-folder.js";
import { DIGESTS } from "./file-thread.js";
import { MANIFEST } from "./manifest.js";

/** Files that are sent, or deleted, at the same time. */
const PARALLEL = 4;
/**
 * Writes a dataset to a prefix of an object store: first to a folder of this machine, then file by file.
 * There is no dataset without a manifest: it is sent last, and that of an earlier dataset is deleted first,
 * so that no reader mixes files of both. The list of its files is sent first, and deleted last, so that it
 * names all that is there. A build that fails deletes what it has sent; if it cannot, or is killed, the
 * prefix has files without a manifest and a mark, and the next build deletes the files that the list names.
 * @param options.signal ends the build before an earlier dataset is deleted, not in the middle of that.
 * @throws {UsageError} where another process writes, or has written, a dataset there in the meantime, and
 * where there are files of somebody else.
 */
export async function putDataset<T>(
  storage: Storage,
  work: WorkFolder,
  { replace, signal }: { readonly replace: boolean; readonly signal?: AbortSignal | undefined },
  write: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = await work.newFile("dataset");
  try {
    await mkdir(draft, { recursive: true });
    const made = await write(draft);
    const files = (await filesUnder(draft)).map(({ path }) => path);
    const claim = await claimPrefix(storage, { replace });
    try {
      await sendFiles(storage, claim, { draft, files, replace, signal });
      // The dataset is complete: a mark that could not be removed is replaced by the next build.
      await claim.release().catch(() => {});
    } finally {
      claim.abandon();
    }
    return made;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

interface Sending {
  readonly draft: string;
  readonly files: readonly string[];
  readonly replace: boolean;
  readonly signal: AbortSignal | undefined;
}

async function sendFiles(
  storage: Storage,
  claim: BuildClaim,
  { draft, files, replace, signal }: Sending,
): Promise<void> {
  const replaced = await filesToReplace(storage, claim, { replace, signal }).catch(async (error: unknown) => {
    await claim.withdraw();
    throw error;
  });
  if (replaced.length > 0) await deleteDataset(storage, replaced);
  const sent = new Set<string>();
  const put = async (path: string): Promise<void> => {
    // An earlier dataset that was deleted is not given up for nothing.
    if (replaced.length === 0) signal?.throwIfAborted();
    // A write that has failed may have been done.
    sent.add(path);
    if (await storage.putFileIfAbsent(join(draft, path), path)) return;
    sent.delete(path);
    throw alreadyThere(storage.location);
  };
  try {
    await put(DIGESTS);
    await putAll(
      files.filter((path) => path !== MANIFEST && path !== DIGESTS),
      put,
    );
    await claim.confirm();
    await put(MANIFEST);
    // Another process may have taken the prefix over while the manifest was sent, and deleted the files that it names.
    await claim.confirm().catch(async (error: unknown) => {
      const own = await readFile(join(draft, MANIFEST), "utf8");
      const isOwn = (await storage.readText(MANIFEST).catch(() => undefined)) === own;
      if (isOwn) await storage.delete(MANIFEST).catch(() => {});
      throw error;
    });
  } catch (error) {
    await deleteSent(storage, claim, sent).catch(() => {});
    throw error;
  }
}

/** The files of an earlier dataset, or of a build that was stopped, that this one replaces. */
async function filesToReplace(
  storage: Storage,
  claim: BuildClaim,
  { replace, signal }: Pick<Sending, "replace" | "signal">,
): Promise<string[]> {
  signal?.throwIfAborted();
  if (!replace && !claim.hasLeftovers) return [];
  if (!replace && (await storage.readText(MANIFEST)) !== undefined) throw alreadyThere(storage.location);
  await refuseForeignFiles(storage);
  return filesOfDataset(storage);
}

/** Deletes files of a dataset: first its manifest, as it must never name a file that is gone, last the list of its files. */
async function deleteDataset(storage: Storage, paths: readonly string[]): Promise<void> {
  if (paths.includes(MANIFEST)) await storage.delete(MANIFEST);
  const data = paths.filter((path) => path !== MANIFEST && path !== DIGESTS);
  await pMap(data, (path) => storage.delete(path), { concurrency: PARALLEL });
  if (paths.includes(DIGESTS)) await storage.delete(DIGESTS);
}

/** Puts files, and waits for those in flight when one has failed: none may arrive after its deletion. */
async function putAll(paths: readonly string[], put: (path: string) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  await pMap(
    paths,
    async (path) => {
      if (failures.length === 0) await put(path).catch((error: unknown) => failures.push(error));
    },
    { concurrency: PARALLEL },
  );
  if (failures.length > 0) throw failures[0];
}

async function deleteSent(storage: Storage, claim: BuildClaim, sent: ReadonlySet<string>): Promise<void> {
  await claim.confirm();
  await deleteDataset(storage, [...sent]);
  await claim.release();
}

/**
 * Expects that a build may write to a place, before it reads anything. A dataset that a crash has left next to its
 * place is put back first. @returns whether a dataset is there. @throws {UsageError} where it must not be touched,
 * where there are files of somebody else, and where another process is about to replace it.
 */
export async function expectPlace(
  storage: Storage,
  { name, existing }: { readonly name: string; readonly existing: "refuse" | "append" | "replace" },
): Promise<boolean> {
  const { location } = storage;
  const isLocal = storage.access === undefined;
  const left = isLocal ? await recoverFolder(location) : undefined;
  const isPlaceThere = isLocal ? existsSync(location) : (await filesOfDataset(storage)).length > 0;
  if (!isPlaceThere) {
    if (left !== undefined) throw movedAway(location, left);
    return false;
  }
  const isThere = (await storage.readText(MANIFEST)) !== undefined;
  if (isThere && existing === "refuse") throw alreadyThere(location);
  // What a build to a store has left that was stopped has a mark.
  if (isThere || existing === "replace" || (!isLocal && (await isAbandoned(storage)))) {
    await refuseForeignFiles(storage);
    return isThere;
  }
  const moved = left && `; an earlier dataset, ${left.path}, is put back when ${location} is no longer there`;
  throw new UsageError(`dataset ${name}: ${location} is there, and no dataset: it has no ${MANIFEST}`, {
    hint: (await whatToDo(storage)) + (moved ?? ""),
  });
}

async function whatToDo(storage: Storage): Promise<string> {
  const foreign = await foreignFiles(storage);
  return foreign.length === 0
    ? `\`existing: "replace"\` builds it again: there are no files but those of a dataset`
    : `its ${DIGESTS} does not name ${firstNames(foreign)}: move such files to another place, then \`existing: "replace"\` builds it again; or name another place with \`output\``;
}
