import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";
import { UsageError } from "../../core/errors.js";
import { filesUnder } from "../../lake/local/local-files.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import type { Storage } from "../../lake/storage/storage.js";
import { BUILD_MARK, type BuildClaim, claimPrefix } from "./build-mark.js";
import { alreadyThere } from "./dataset-folder.js";
import { MANIFEST } from "./manifest.js";

/** Files that are sent, or deleted, at the same time. */
const PARALLEL = 4;
/** What the probe of a store leaves at a prefix: see the store's write ability. */
const PROBES = "probes/";

/** The files of a dataset at a prefix. */
export async function filesOfDataset(storage: Storage): Promise<string[]> {
  const paths = (await storage.walk("")).map(({ path }) => path);
  return paths.filter((path) => !path.startsWith(PROBES) && path !== BUILD_MARK);
}

/**
 * Writes a dataset to a prefix of an object store: first to a folder of this machine, then file by file, its manifest
 * last. There is no dataset without a manifest: when a dataset is replaced, its manifest is deleted first, so that no reader
 * mixes files of both. A build that fails deletes what it has sent; if it cannot, or its process is killed, the prefix has
 * files without a manifest and a mark, and the next build deletes them.
 *
 * @param options.replace whether files of an earlier dataset may be deleted.
 * @throws {UsageError} where another process writes, or has written, a dataset there in the meantime.
 */
export async function putDataset<T>(
  storage: Storage,
  work: WorkFolder,
  { replace }: { readonly replace: boolean },
  write: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = await work.newFile("dataset");
  try {
    await mkdir(draft, { recursive: true });
    const made = await write(draft);
    const files = (await filesUnder(draft)).map(({ path }) => path);
    const claim = await claimPrefix(storage, { replace });
    try {
      await sendFiles(storage, claim, { draft, files, replace });
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
}

async function sendFiles(
  storage: Storage,
  claim: BuildClaim,
  { draft, files, replace }: Sending,
): Promise<void> {
  if (replace || claim.hasLeftovers) {
    if (!replace && (await storage.readText(MANIFEST)) !== undefined) throw alreadyThere(storage.location);
    const found = await filesOfDataset(storage);
    const other = found.find((path) => path.endsWith(`/${MANIFEST}`));
    if (!replace && other !== undefined)
      throw new UsageError(`dataset ${storage.location}: ${other} below it is another dataset`, {
        hint: 'name another place with `output`; `existing: "replace"` deletes all that is below the prefix',
      });
    await storage.delete(MANIFEST);
    await deleteAll(storage, found);
  }
  const sent = new Set<string>();
  const put = async (path: string): Promise<void> => {
    // A write that has failed may have been done.
    sent.add(path);
    if (await storage.putFileIfAbsent(join(draft, path), path)) return;
    sent.delete(path);
    throw alreadyThere(storage.location);
  };
  try {
    await putAll(
      files.filter((path) => path !== MANIFEST),
      put,
    );
    await claim.confirm();
    await put(MANIFEST);
    // Another process may have taken the prefix over while the manifest was sent, and deleted the files that it names.
    await claim.confirm().catch(async (error: unknown) => {
      await storage.delete(MANIFEST).catch(() => {});
      throw error;
    });
  } catch (error) {
    await deleteSent(storage, claim, sent).catch(() => {});
    throw error;
  }
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
  // The manifest goes first: it must never lack a file.
  if (sent.has(MANIFEST)) await storage.delete(MANIFEST);
  await deleteAll(storage, [...sent]);
  await claim.release();
}

async function deleteAll(storage: Storage, paths: readonly string[]): Promise<void> {
  await pMap(paths, (path) => storage.delete(path), { concurrency: PARALLEL });
}
