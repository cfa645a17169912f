import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { MAIN, runCli } from "../../cli/run-cli.js";
import { type MachineProcess, type Network, SERVICE_ADDRESS, STORE_ADDRESS } from "./network-machines.js";

const PROXY = fileURLToPath(new URL("recording-proxy.mjs", import.meta.url));
const SERVICE_PORT = 8080;
const OWN_PORT = 8081;
const STORE_PORT = 7070;

/** Where machines find the service. */
export const SERVICE_URL = `http://${SERVICE_ADDRESS}:${SERVICE_PORT}`;

/** The environment of programs that use the store of the hub, which has the bucket `lakes`. */
export const STORE_ENV: Readonly<Record<string, string>> = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "testsecret",
  AWS_REGION: "us-east-1",
  AWS_ENDPOINT_URL_S3: `http://${STORE_ADDRESS}:${STORE_PORT}`,
  AWS_CONFIG_FILE: "/nonexistent",
  AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
};

/** A request that the service has answered. */
export interface Served {
  /** When it came, in epoch milliseconds. */
  readonly time: number;
  /** The address of the machine. */
  readonly from: string;
  readonly url: string;
  readonly status: number;
}

export interface Hub {
  /** The lake that is served. */
  readonly market: string;
  readonly served: () => Served[];
}

export interface HubOptions {
  /** The program of the store. */
  readonly store: string;
  /** Options of `sim`. */
  readonly market: readonly string[];
  readonly key: string;
  /** Requests in any minute: more are refused. */
  readonly rpm: number;
  /** Further options of `serve`. */
  readonly serve?: readonly string[];
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(50);
}

/** Starts a store, and a service with a record of its requests. They end with the network. */
export async function startHub(network: Network, place: string, options: HubOptions): Promise<Hub> {
  const market = join(place, "market");
  const made = await runCli(["sim", ...options.market], { env: { BARLAKE_LAKE: market } });
  expect(made.code).toBe(0);
  const data = join(place, "store");
  mkdirSync(join(data, "lakes"), { recursive: true });
  const store = network.start(
    "hub",
    [options.store, "--port", `${STORE_ADDRESS}:${STORE_PORT}`, "--quiet", "posix", data],
    { ROOT_ACCESS_KEY: "test", ROOT_SECRET_KEY: "testsecret", HOME: place },
  );
  const at = ["--host", SERVICE_ADDRESS, "--port", String(OWN_PORT), "--rpm", String(options.rpm)];
  const serve = [process.execPath, MAIN, "serve", ...at, "--lake", market, ...(options.serve ?? [])];
  const service = network.start("hub", serve, { BARLAKE_SERVE_KEYS: options.key });
  await until(() => service.output.stdout.includes("serving"));
  const ports = [SERVICE_PORT, OWN_PORT].map(String);
  const proxy = network.start("hub", [process.execPath, PROXY, SERVICE_ADDRESS, ...ports]);
  await until(() => proxy.output.stdout.includes("ready"));
  expect(store.output.stderr).toBe("");
  return { market, served: () => servedBy(proxy) };
}

function servedBy({ output }: MachineProcess): Served[] {
  return output.stdout
    .slice(0, output.stdout.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Served);
}

/** The part of the quota that was used in whole minutes: in each, a machine sends its part in one burst. */
export function usedPart(served: readonly Served[], rpm: number, from: number, to: number): number {
  const passed = served.filter(({ status, time }) => status === 200 && time >= from && time < to).length;
  return passed / ((rpm * (to - from)) / 60_000);
}
