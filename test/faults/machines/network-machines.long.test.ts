import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { MAIN, runCli } from "../../cli/run-cli.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findStore } from "../../object-store/store-server.js";
import { SWEEP } from "../../sweep.js";
import {
  hasFaketime,
  type MachineProcess,
  type Network,
  networkFault,
  openNetwork,
  SERVICE_ADDRESS,
  STORE_ADDRESS,
} from "./network-machines.js";

const WORKER = fileURLToPath(new URL("key-machine.mjs", import.meta.url));
const KEY = "key-of-three-machines";
const RPM = 120;
const MINUTE = 60_000;
const STORE_ENV = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "testsecret",
  AWS_REGION: "us-east-1",
  AWS_ENDPOINT_URL_S3: `http://${STORE_ADDRESS}:7070`,
  AWS_CONFIG_FILE: "/nonexistent",
  AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
};

const program = findStore("versitygw");
const fault = networkFault();
if (fault !== undefined) console.warn(`machines in networks of their own are not tested: ${fault}`);

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(50);
}

/** A service that counts the requests of the key in any minute, and refuses more; and a store. */
async function startHub(network: Network, place: string): Promise<MachineProcess> {
  const made = await runCli(["sim", "--symbols", "20", "--days", "5", "--minute-days", "0"], {
    env: { BARLAKE_LAKE: join(place, "market") },
  });
  expect(made.code).toBe(0);
  const data = join(place, "store");
  mkdirSync(join(data, "keys"), { recursive: true });
  const store = network.start(
    "hub",
    [program as string, "--port", `${STORE_ADDRESS}:7070`, "--quiet", "posix", data],
    { ROOT_ACCESS_KEY: "test", ROOT_SECRET_KEY: "testsecret", HOME: place },
  );
  const serve = [process.execPath, MAIN, "serve", "--host", SERVICE_ADDRESS, "--port", "8080"];
  const service = network.start("hub", [...serve, "--rpm", String(RPM), "--lake", join(place, "market")], {
    BARLAKE_SERVE_KEYS: KEY,
  });
  await until(() => service.output.stdout.includes("serving"));
  expect(store.output.stderr).toBe("");
  return service;
}

interface Served {
  readonly time: number;
  readonly status: number;
}

function servedBy({ output }: MachineProcess): Served[] {
  return output.stderr
    .slice(0, output.stderr.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Served & { readonly msg: string })
    .filter(({ msg }) => msg === "request");
}

/** The part of the quota that was used in whole minutes: in each, a machine sends its part in one burst. */
function usedPart(served: readonly Served[], from: number, to: number): number {
  const passed = served.filter(({ status, time }) => status === 200 && time >= from && time < to).length;
  return passed / ((RPM * (to - from)) / MINUTE);
}

/** The steps take twenty minutes, since leases become stale by the clock of a real store. */
test.runIf(fault === undefined && program !== undefined && SWEEP === "all")(
  "machines that are killed, stopped, cut off and have other clocks never exceed the quota of their key",
  async () => {
    const place = temporaryFolder();
    const network = openNetwork(["one", "two", "three"]);
    onTestFinished(() => network.close());
    const service = await startHub(network, place);
    const start = (machine: string, aheadMinutes = 0): MachineProcess => {
      const url = `http://${SERVICE_ADDRESS}:8080`;
      const command = [process.execPath, WORKER, url, KEY, "s3://keys/shared", String(RPM)];
      return network.start(machine, command, STORE_ENV, aheadMinutes);
    };
    const refused = (): number => servedBy(service).filter(({ status }) => status === 429).length;
    const steps: [string, number, number][] = [];
    /** Waits until the machines have settled, and then measures whole minutes. */
    const measure = async (step: string, settleMs: number): Promise<void> => {
      await delay(settleMs);
      const from = Date.now();
      await delay(2 * MINUTE);
      steps.push([step, usedPart(servedBy(service), from, Date.now()), refused()]);
      console.info(...(steps.at(-1) ?? []));
    };

    const one = start("one");
    await until(() => one.output.stdout.includes("joined"));
    let two = start("two");
    // Stores refuse signatures of clocks that are more than a quarter of an hour off.
    start("three", hasFaketime ? 10 : 0);
    await measure("three machines", 75_000);
    two.signal("SIGKILL");
    await measure("one killed", 130_000);
    two = start("two");
    one.signal("SIGSTOP");
    await delay(75_000);
    one.signal("SIGCONT");
    await until(() => one.output.stdout.includes("was taken over"));
    await measure("one stopped and woken", 75_000);
    network.cut("three", STORE_ADDRESS, true);
    await delay(75_000);
    network.cut("three", STORE_ADDRESS, false);
    await measure("one cut off from the store", 130_000);
    network.cut("three", SERVICE_ADDRESS, true);
    await delay(20_000);
    network.cut("three", SERVICE_ADDRESS, false);
    await measure("one cut off from the service", 45_000);

    for (const [step, part, refusals] of steps)
      expect([step, part >= 0.95, refusals]).toEqual([step, true, 0]);
  },
  30 * MINUTE,
);
