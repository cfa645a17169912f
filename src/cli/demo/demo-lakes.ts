import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";
import { UsageError } from "../../core/errors.js";
import { Session } from "../../db/session/session.js";
import { Lake } from "../../lake/lake.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { isObjectUrl } from "../../object-store/object-address.js";

/** Marks the place of a demo: it may be emptied. */
const MARKER = ".barlake-demo";
const NAMES = ["market", "lake"] as const;

/** The two lakes of a demo: the market that is served, and the lake that ingests it. */
export interface DemoLakes {
  readonly market: Lake;
  readonly lake: Lake;
}

/**
 * Opens the lakes of a demo, in a folder or under a prefix of a store, and empties them.
 *
 * @param environment credentials of stores, and folders of this machine.
 * @throws {UsageError} where the place has something that no demo made.
 * @throws {BarlakeError} where DuckDB cannot read from a store, before anything is deleted.
 */
export async function emptyDemoLakes(location: string, environment: Environment): Promise<DemoLakes> {
  const isStore = isObjectUrl(location);
  await (isStore ? emptyPrefix(new Lake(location, { environment })) : emptyFolder(location));
  const at = (name: string): Lake =>
    new Lake(isStore ? `${location}/${name}` : join(location, name), { environment });
  const [market, lake] = [at("market"), at("lake")];
  // What this machine stored about a store is deleted with the store.
  if (isStore) for (const { work } of [market, lake]) await rm(work.path, { recursive: true, force: true });
  return { market, lake };
}

async function emptyFolder(folder: string): Promise<void> {
  await claimDemoFolder(folder);
  for (const name of NAMES) await rm(join(folder, name), { recursive: true, force: true });
}

/** Makes a folder for a demo, or takes that of an earlier one. @throws {UsageError} where it has anything else. */
export async function claimDemoFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length > 0 && !names.includes(MARKER)) throw notOurs(`folder ${folder}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, MARKER), "made by barlake demo\n");
}

async function emptyPrefix({ location, storage, access }: Lake): Promise<void> {
  // A machine that lacks DuckDB's extension says so at once, and not after the market was simulated.
  (await Session.open(access))[Symbol.dispose]();
  const names = await storage.list("");
  if (names.length > 0 && !names.includes(MARKER)) throw notOurs(location);
  await storage.put(MARKER, "made by barlake demo\n");
  for (const name of NAMES)
    await pMap(await storage.walk(name), ({ path }) => storage.delete(`${name}/${path}`), { concurrency: 8 });
}

function notOurs(place: string): UsageError {
  return new UsageError(`${place} is not empty, and the demo did not make it`, {
    hint: "move it away, or give another --lake",
  });
}
