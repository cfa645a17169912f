import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import pMap from "p-map";
import { UsageError } from "../../core/errors.js";
import { Session } from "../../db/session/session.js";
import { Lake } from "../../lake/lake.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import { findStore, restartLines, STORES, startStore, variableOf } from "./store-server.js";

/** Marks the place of a demo: it may be emptied. */
const MARKER = ".barlake-demo";
const NAMES = ["market", "lake"] as const;

/** The two lakes of a demo: the market that is served, and the lake that ingests it. */
interface DemoLakes {
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
async function claimDemoFolder(folder: string): Promise<void> {
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

const BUCKET = "demo";

/** A store that runs for one demo. */
interface DemoStore {
  /** What runs, and where; for a person. */
  readonly description: string;
  /** The address of the demo's lakes in the store: `s3://bucket`. */
  readonly location: string;
  /** What the lakes need: the address and credentials of the store, and the folder of unfinished work. */
  readonly environment: Environment;
  /** The lines of a shell that start it again once it has stopped. */
  readonly restart: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts an empty object store whose files are in `folder/store`. What an earlier demo left there is deleted.
 *
 * @param environment where the store's program may be, and what the lakes take in addition to the store.
 * @throws {UsageError} where no store is on this machine, or the folder has something that no demo made.
 */
export async function startDemoStore(folder: string, environment: Environment): Promise<DemoStore> {
  const [found] = STORES.flatMap((name) => {
    const program = findStore(name, environment);
    return program === undefined ? [] : [{ name, program }];
  });
  if (found === undefined)
    throw new UsageError(`no object store is on this machine: ${STORES.join(" and ")} were not found`, {
      hint: `build them with test/interop/stores.sh of the sources (it needs Go), name one by ${STORES.map(variableOf).join(" or ")}, or use your own store: barlake demo --lake s3://bucket/prefix`,
    });
  const { name, program } = found;
  await claimDemoFolder(folder);
  const place = resolve(folder, "store");
  await rm(place, { recursive: true, force: true });
  await mkdir(place, { recursive: true });
  const server = await startStore(name, program, { folder: place, bucket: BUCKET });
  const work = join(place, "work");
  return {
    description: `${name} runs at ${server.url}, its files are in ${join(folder, "store")}`,
    location: `s3://${BUCKET}`,
    environment: { ...withoutAws(environment), ...server.env, BARLAKE_WORK: work },
    restart: restartLines(name, program, place),
    stop: () => server.stop(),
  };
}

/** Without the user's settings for other stores: a session token or a profile would be sent to this one. */
function withoutAws(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("AWS_")));
}
