import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findStore } from "../../object-store/store-server.js";
import { SWEEP } from "../../sweep.js";
import { SERVICE_URL, STORE_ENV, startHub, until, usedPart } from "./hub.js";
import {
  hasFaketime,
  type MachineProcess,
  networkFault,
  openNetwork,
  SERVICE_ADDRESS,
  STORE_ADDRESS,
} from "./network-machines.js";

const WORKER = fileURLToPath(new URL("key-machine.mjs", import.meta.url));
const KEY = "key-of-three-machines";
const RPM = 120;
const MINUTE = 60_000;
const program = findStore("versitygw");
const fault = networkFault();
if (fault !== undefined) console.warn(`machines in networks of their own are not tested: ${fault}`);

/** The steps take twenty minutes, since leases become stale by the clock of a real store. */
test.runIf(fault === undefined && program !== undefined && SWEEP === "all")(
  "machines that are killed, stopped, cut off and have other clocks never exceed the quota of their key",
  async () => {
    const place = temporaryFolder();
    const network = openNetwork(["one", "two", "three"]);
    onTestFinished(() => network.close());
    const { served } = await startHub(network, place, {
      store: program as string,
      market: ["--symbols", "20", "--days", "5", "--minute-days", "0"],
      key: KEY,
      rpm: RPM,
    });
    const start = (machine: string, aheadMinutes = 0): MachineProcess => {
      const command = [process.execPath, WORKER, SERVICE_URL, KEY, "s3://lakes/keys", String(RPM)];
      return network.start(machine, command, STORE_ENV, aheadMinutes);
    };
    const refused = (): number => served().filter(({ status }) => status === 429).length;
    const steps: [string, number, number][] = [];
    /** Waits until the machines have settled, and then measures whole minutes. */
    const measure = async (step: string, settleMs: number): Promise<void> => {
      await delay(settleMs);
      const from = Date.now();
      await delay(2 * MINUTE);
      steps.push([step, usedPart(served(), RPM, from, Date.now()), refused()]);
      console.info(...(steps.at(-1) ?? []));
    };

    const one = start("one");
    await until(() => one.output.stdout.includes("share"));
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
