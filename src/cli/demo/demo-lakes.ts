import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pMap from "p-map";
import { request } from "undici";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { shellWord } from "../../core/text-order.js";
import { userFolder } from "../../core/user-folder.js";
import { Session } from "../../db/session/session.js";
import { Lake } from "../../lake/lake.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { isObjectUrl } from "../../object-store/object-address.js";

/** Object stores that can be started here; test/interop/stores.sh builds them. */
export const STORES = ["versitygw", "minio"] as const;
export type StoreName = (typeof STORES)[number];

export interface StoreServer {
  readonly url: string;
  readonly bucket: string;
  readonly env: Readonly<Record<string, string>>;
  /** The end of what it has printed: at most 4,000 characters. */
  readonly printed: () => string;
  stop(): Promise<void>;
}

export function variableOf(name: StoreName): string {
  return `BARLAKE_${name.toUpperCase()}`;
}

/**
 * The path of a store's program: what BARLAKE_VERSITYGW or BARLAKE_MINIO names (empty: none), else one in the cache
 * folder of barlake or in PATH. Undefined where there is none.
 */
export function findStore(name: StoreName, environment: Environment): string | undefined {
  const named = environment[variableOf(name)];
  if (named !== undefined) return named === "" ? undefined : resolve(named);
  const folders = [
    join(userFolder("cache", environment), "bin"),
    ...(environment.PATH ?? "").split(delimiter),
  ];
  return folders
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(existsSync);
}

/** The arguments of the programs. A folder in `data` is a bucket. */
const ARGUMENTS: Readonly<Record<StoreName, (address: string, data: string) => string[]>> = {
  versitygw: (address, data) => ["--port", address, "--quiet", "--keep-alive", "posix", data],
  minio: (address, data) => ["server", "--quiet", "--address", address, data],
};

const CREDENTIALS: Readonly<Record<StoreName, { readonly id: string; readonly secret: string }>> = {
  versitygw: { id: "ROOT_ACCESS_KEY", secret: "ROOT_SECRET_KEY" },
  minio: { id: "MINIO_ROOT_USER", secret: "MINIO_ROOT_PASSWORD" },
};

/**
 * Runs the program that its arguments name, in the same process, and kills it when standard input ends: that is so
 * when the process that started it has ended, also when it was killed.
 */
const UNTIL_INPUT_ENDS = `exec 3<&0; (cat <&3; kill -KILL $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null`;

interface StoreOptions {
  readonly folder: string;
  readonly bucket: string;
  /** Whether it prints errors only; otherwise it also prints requests, where it can. @default true */
  readonly isQuiet?: boolean;
}

/** How often a store is started that another program took the port of. */
const ATTEMPTS = 3;

/**
 * Starts a store with random credentials, and waits until it responds. Its files are in `folder/data`. The caller must
 * stop it; it also ends with this process. It does not get the Ctrl-C of the terminal, so that work can end first.
 *
 * @throws {BarlakeError} where it ends before it responds, with what it printed.
 */
export async function startStore(
  name: StoreName,
  program: string,
  options: StoreOptions,
): Promise<StoreServer> {
  const { folder, bucket } = options;
  mkdirSync(join(folder, "data", bucket), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(name, program, options);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOnce(
  name: StoreName,
  program: string,
  { folder, bucket, isQuiet = true }: StoreOptions,
): Promise<StoreServer> {
  const [id, secret] = [randomBytes(8).toString("hex"), randomBytes(20).toString("hex")];
  const address = `127.0.0.1:${await freePort()}`;
  const words = ARGUMENTS[name](address, join(folder, "data"));
  const command = [program, ...words.filter((word) => isQuiet || word !== "--quiet")];
  const { PATH = "" } = process.env;
  const child = spawn("sh", ["-c", UNTIL_INPUT_ENDS, "sh", ...command], {
    cwd: folder,
    stdio: ["pipe", "pipe", "pipe"],
    // A separate group: the terminal sends Ctrl-C to the group of this process.
    detached: true,
    env: {
      PATH,
      HOME: folder,
      MINIO_BROWSER: "off",
      [CREDENTIALS[name].id]: id,
      [CREDENTIALS[name].secret]: secret,
    },
  });
  const running = { child, hasEnded: false };
  const ended = new Promise<void>((settle) => {
    const end = (): void => {
      running.hasEnded = true;
      killGroup(child);
      settle();
    };
    child.once("error", end);
    child.once("close", end);
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => {
      printed = (printed + piece.toString()).slice(-4000);
    });
  child.stdin.on("error", () => {});
  const stop = async (): Promise<void> => {
    if (!running.hasEnded) killGroup(child);
    await ended;
  };
  const url = `http://${address}`;
  while (!(await responds(`${url}/${bucket}`))) {
    if (running.hasEnded)
      throw new BarlakeError(`${name} ended before it responded: ${printed.trim()}`, {
        hint: `start it by hand to see why: ${command.join(" ")}`,
      });
    await delay(20);
  }
  const env = {
    AWS_ACCESS_KEY_ID: id,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: "us-east-1",
    AWS_ENDPOINT_URL_S3: url,
    AWS_CONFIG_FILE: join(folder, "no-config"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "no-credentials"),
  };
  return { url, bucket, env, printed: () => printed, stop };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // No process of the group is left.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Whether a store is ready: it responds, and not with the status of a store that is still starting. */
async function responds(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { method: "HEAD" });
    await body.dump();
    return statusCode < 500;
  } catch {
    return false;
  }
}

/** A port that was free just now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

/**
 * The lines of a shell that start a stopped store again on its files, and name its address to its clients.
 * The shell makes new credentials: those that the store had are nowhere.
 */
function restartLines(name: StoreName, program: string, folder: string): string[] {
  const { id, secret } = CREDENTIALS[name];
  const address = "127.0.0.1:7070";
  const command = [program, ...ARGUMENTS[name](address, join(folder, "data"))].map(shellWord).join(" ");
  return [
    `export AWS_ACCESS_KEY_ID=demo AWS_SECRET_ACCESS_KEY="$(node -p 'crypto.randomUUID()')"`,
    `export AWS_REGION=us-east-1 AWS_ENDPOINT_URL_S3=http://${address}`,
    `${id}=$AWS_ACCESS_KEY_ID ${secret}=$AWS_SECRET_ACCESS_KEY ${command} &`,
  ];
}

/** Marks the place of a demo: it may be emptied. */
const MARKER = ".barlake-demo";
const NAMES = ["market", "lake"] as const;

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
