import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";
import { filesUnder } from "../../lake/local/local-files.js";
import type { WorkFolder } from "../../lake/local/work-folder.js";
import type { Storage } from "../../lake/storage/storage.js";
import { alreadyThere } from "./dataset-folder.js";
import { MANIFEST } from "./manifest.js";

/** Files that are sent, or deleted, at the same time. */
const PARALLEL = 4;
/** What the probe of a store leaves at a prefix: see the store's write ability. */
const PROBES = "probes/";

/** The files of a dataset at a prefix. */
export async function filesOfDataset(storage: Storage): Promise<string[]> {
  return (await storage.walk("")).map(({ path }) => path).filter((path) => !path.startsWith(PROBES));
}

/**
 * Writes a dataset to a prefix of an object store: first to a folder of this machine, then file by file, its manifest
 * last. There is no dataset without a manifest: when a dataset is replaced, its manifest is deleted first, so that no reader
 * mixes files of both. After an interruption the prefix has files without a manifest, which `replace` deletes.
 *
 * @param options.replace whether files of an earlier dataset may be deleted.
 * @throws {UsageError} where another process has written a dataset there in the meantime.
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
    if (replace) {
      await storage.delete(MANIFEST);
      await pMap(await filesOfDataset(storage), (path) => storage.delete(path), { concurrency: PARALLEL });
    }
    const put = async (path: string): Promise<void> => {
      if (!(await storage.putFileIfAbsent(join(draft, path), path))) throw alreadyThere(storage.location);
    };
    await pMap(
      files.filter((path) => path !== MANIFEST),
      put,
      { concurrency: PARALLEL },
    );
    await put(MANIFEST);
    return made;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
