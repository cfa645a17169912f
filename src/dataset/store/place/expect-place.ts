import { existsSync } from "node:fs";
import { UsageError } from "../../../core/errors.js";
import type { Storage } from "../../../lake/storage/storage.js";
import { DIGESTS } from "../files/digest-list.js";
import { MANIFEST } from "../files/manifest.js";
import { isAbandoned } from "./build-mark.js";
import { alreadyThere, movedAway, recoverFolder } from "./dataset-folder.js";
import { filesOfDataset, foreignFiles, namesOf, refuseForeignFiles } from "./foreign-files.js";

/**
 * Expects that a build may write to a place, before it reads anything. A dataset that a crash has left next to its place
 * is put back first.
 *
 * @param storage the folder of the dataset, or its prefix in a store.
 * @returns whether a dataset is there.
 * @throws {UsageError} where a dataset is there and must not be touched, where there are files of somebody else, and
 *   where another process is about to replace the dataset.
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
    : `its ${DIGESTS} does not name ${namesOf(foreign)}: move such files to another place, then \`existing: "replace"\` builds it again; or name another place with \`output\``;
}
