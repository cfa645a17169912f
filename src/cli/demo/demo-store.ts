import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "../../core/errors.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { claimDemoFolder } from "./demo-lakes.js";
import { findStore, restartLines, STORES, startStore, variableOf } from "./store-server.js";

const BUCKET = "demo";

/** A store that runs for one demo. */
export interface DemoStore {
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
