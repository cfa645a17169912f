import { existsSync, readdirSync } from "node:fs";
import { UsageError } from "../../../core/errors.js";
import type { Storage } from "../../../lake/storage/storage.js";
import { DIGESTS, digestsIn } from "../files/digest-list.js";
import { MANIFEST } from "../files/manifest.js";
import { isBuildMark } from "./build-mark.js";

/** What the probe of a store leaves at a prefix: see the store's write ability. */
const PROBES = "probes/";
/** Files that an error names. */
const NAMED = 5;

/** The files at the place of a dataset, links included, by path. */
export async function filesOfDataset(storage: Storage): Promise<string[]> {
  if (storage.access === undefined)
    return existsSync(storage.location) ? filesInFolder(storage.location) : [];
  const paths = (await storage.walk("")).map(({ path }) => path);
  return paths.filter((path) => !path.startsWith(PROBES) && !isBuildMark(path));
}

/** All that is in a folder and is no folder. A call without a promise for each of 5,000 folders takes a quarter of the time. */
function filesInFolder(folder: string, prefix = ""): string[] {
  return readdirSync(`${folder}/${prefix}`, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesInFolder(folder, `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
  );
}

/** The files at the place of a dataset that its list of files does not name: somebody else has put them there. */
export async function foreignFiles(storage: Storage): Promise<string[]> {
  const own = digestsIn((await storage.readText(DIGESTS)) ?? "");
  const isOwn = (path: string): boolean => own.has(path) || path === DIGESTS || path === MANIFEST;
  return (await filesOfDataset(storage)).filter((path) => !isOwn(path)).sort();
}

/**
 * Expects that everything at a place is of the dataset there, before a build replaces it: nothing else is ever deleted.
 *
 * @throws {UsageError} naming the other files.
 */
export async function refuseForeignFiles(storage: Storage): Promise<void> {
  const foreign = await foreignFiles(storage);
  if (foreign.length === 0) return;
  throw new UsageError(
    `dataset ${storage.location}: there are files that its ${DIGESTS} does not name, and a build would delete: ${namesOf(foreign)}`,
    {
      hint: `move them to another place, or delete them if nobody needs them; or name another place with \`output\``,
    },
  );
}

/** The first of some files, and how many there are beyond them. */
export function namesOf(files: readonly string[]): string {
  const more = files.length - NAMED;
  return files.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
