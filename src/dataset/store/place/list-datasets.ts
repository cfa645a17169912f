import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../core/errors.js";
import type { Lake } from "../../../lake/lake.js";
import { type Manifest, readManifest } from "../files/manifest.js";
import { DATASETS, movedAway, recoverFolder } from "./dataset-folder.js";

/** A dataset of a lake, or the reason why it cannot be read. */
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
