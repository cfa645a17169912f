import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";

/** Object stores that tests can start; test/interop/stores.sh builds them. */
export const STORES = ["versitygw", "minio"] as const;
export type StoreName = (typeof STORES)[number];

/** A store that runs on a loopback port, with one empty bucket. */
export interface StoreServer {
  readonly url: string;
  readonly bucket: string;
  /** The variables that a client of the store needs. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const ACCESS_KEY = "test";
const SECRET_KEY = "testsecret";
const BUCKET = "lakes";

/**
 * The path of a store's program: BARLAKE_VERSITYGW or BARLAKE_MINIO, else in the cache of barlake or in PATH. Says so
 * once where there is none.
 */
export function findStore(name: StoreName): string | undefined {
  const variable = `BARLAKE_${name.toUpperCase()}`;
  const named = process.env[variable];
  if (named === "") return undefined;
  const folders = [
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "barlake", "bin"),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  const found = named ?? folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined && !REPORTED.has(name)) {
    REPORTED.add(name);
    console.warn(
      `no ${name} here: its tests are skipped (test/interop/stores.sh builds it, ${variable} names one)`,
    );
  }
  return found;
}

const REPORTED = new Set<StoreName>();

/** How the programs are started. The port is free; `data` is an empty folder. */
const ARGUMENTS: Readonly<Record<StoreName, (address: string, data: string) => string[]>> = {
  versitygw: (address, data) => ["--port", address, "--quiet", "--keep-alive", "posix", data],
  minio: (address, data) => ["server", "--quiet", "--address", address, data],
};

/** Starts a store in a temporary folder, and waits until it responds. The caller must stop it. */
export async function startStore(name: StoreName, program: string): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), `barlake-${name}-`));
  const data = join(folder, "data");
  // Both take a folder for a bucket.
  mkdirSync(join(data, BUCKET), { recursive: true });
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(program, ARGUMENTS[name](address, data), {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      HOME: folder,
      ROOT_ACCESS_KEY: ACCESS_KEY,
      ROOT_SECRET_KEY: SECRET_KEY,
      MINIO_ROOT_USER: ACCESS_KEY,
      MINIO_ROOT_PASSWORD: SECRET_KEY,
      MINIO_BROWSER: "off",
    },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => {
      printed = (printed + piece.toString()).slice(-4000);
    });
  const stop = async (): Promise<void> => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://${address}`;
  // A process that is killed does not stop its store, otherwise.
  process.once("exit", () => child.kill("SIGKILL"));
  while (!(await responds(url))) {
    if (child.exitCode !== null) {
      await stop();
      throw new Error(`${name} ended before it responded:\n${printed}`);
    }
    await delay(20);
  }
  const env = {
    AWS_ACCESS_KEY_ID: ACCESS_KEY,
    AWS_SECRET_ACCESS_KEY: SECRET_KEY,
    AWS_REGION: "us-east-1",
    AWS_ENDPOINT_URL_S3: url,
    AWS_CONFIG_FILE: join(folder, "no-config"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "no-credentials"),
  };
  return { url, bucket: BUCKET, env, stop };
}

/** Whether a store is ready: any response but that of one that still starts. */
async function responds(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${url}/${BUCKET}`, { method: "HEAD" });
    await body.dump();
    return statusCode < 500;
  } catch {
    return false;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exit;
}

/** A port that was free just now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
