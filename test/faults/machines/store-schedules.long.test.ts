import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { MAIN, runCli } from "../../cli/run-cli.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findHttpfs } from "../../object-store/httpfs.js";
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

const KEY = "key-of-three-machines";
/** Few, so that the machines use their quota on a slow computer, too: each request lands in a store. */
const RPM = 40;
/** Two requests each: work for eleven minutes. */
const SYMBOLS = 220;
const MINUTE = 60_000;
const LAKE = "s3://lakes/lake";
/** Requests of a run that are in flight at the same time, or have been received and not landed: what a killed run may lose. */
const IN_FLIGHT = 24;

const store = findStore("versitygw");
const extensions = findHttpfs();
const fault = networkFault();
const isPossible = store !== undefined && extensions !== undefined && fault === undefined;

interface Line {
  readonly msg: string;
  readonly pipeline?: string;
  readonly pipelines?: readonly string[];
  readonly status?: string;
}

function linesOf({ output }: MachineProcess): Line[] {
  return output.stderr
    .slice(0, output.stderr.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
}

const hasCompleted = (machine: MachineProcess, pipeline: string): boolean =>
  linesOf(machine).some((line) => line.pipeline === pipeline && line.status === "complete");

/** The steps take a quarter of an hour, since leases become stale by the clock of a real store. */
test.runIf(isPossible && SWEEP === "all")(
  "schedules over a store that are killed, stopped and cut off lose and double nothing, and keep to the quota of their key",
  async () => {
    const place = temporaryFolder();
    const network = openNetwork(["one", "two", "three"]);
    onTestFinished(() => network.close());
    const { market, served } = await startHub(network, place, {
      store: store as string,
      market: ["--symbols", "1500", "--days", "20", "--minute-days", "5"],
      key: KEY,
      rpm: RPM,
      serve: ["--max-symbols", "1"],
    });
    const ask = async (lake: string, sql: string): Promise<string> => {
      // The store is in the network of the hub: its files are the objects.
      const { code, stdout, stderr } = await runCli(["sql", "--format", "csv", "--lake", lake, sql]);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout.split("\n").slice(1).filter(Boolean).join("\n");
    };
    const listed = await ask(market, `SELECT DISTINCT symbol FROM bars_1m ORDER BY symbol LIMIT ${SYMBOLS}`);
    const symbols = listed.split("\n");
    const [from, to] = (await ask(market, "SELECT min(trade_date), max(trade_date) + 1 FROM bars_1m")).split(
      ",",
    );
    for (const [name, period] of [
      ["days", "1d"],
      ["minutes", "1m"],
    ]) {
      const schedule = { cron: "* * * * *" };
      const definition = { name, kind: "bars", period, from, to, symbols, schedule };
      writeFileSync(join(place, `${name}.mjs`), `export default ${JSON.stringify(definition)};\n`);
    }
    const start = (machine: string, pipelines: readonly string[], aheadMinutes = 0): MachineProcess => {
      const files = pipelines.map((name) => join(place, `${name}.mjs`));
      const env = {
        ...STORE_ENV,
        BARLAKE_URL: SERVICE_URL,
        BARLAKE_API_KEY: KEY,
        BARLAKE_LAKE: LAKE,
        BARLAKE_WORK: join(place, machine),
        BARLAKE_DUCKDB_EXTENSIONS: extensions,
      };
      const command = [process.execPath, MAIN, "schedule", ...files, "--rpm", String(RPM), "--no-scrub"];
      return network.start(machine, command, env, aheadMinutes);
    };
    const passed = (): number => served().filter(({ status }) => status === 200).length;
    const steps: [string, number][] = [];
    /** Waits until the machines have settled, and then measures whole minutes. */
    const measure = async (step: string, settleMs: number): Promise<void> => {
      await delay(settleMs);
      const begun = Date.now();
      await delay(2 * MINUTE);
      steps.push([step, usedPart(served(), RPM, begun, Date.now())]);
      console.info(...(steps.at(-1) ?? []));
    };

    // The first one leads both; of those that stand by, each has one in common with it.
    let one = start("one", ["days", "minutes"]);
    await until(() => passed() > 0);
    const two = start("two", ["days"]);
    // Stores refuse signatures of clocks that are more than a quarter of an hour off.
    const three = start("three", ["minutes"], hasFaketime ? 10 : 0);
    await until(() => [two, three].every((each) => linesOf(each).some(({ msg }) => msg === "standing by")));
    await measure("one leads both", 75_000);
    one.signal("SIGKILL");
    // Both are led now, by one machine each: they divide the key.
    await until(() => [two, three].every((each) => linesOf(each).some(({ msg }) => msg === "leading")));
    one = start("one", ["days", "minutes"]);
    await measure("one was killed", 130_000);
    two.signal("SIGSTOP");
    await delay(75_000);
    two.signal("SIGCONT");
    await until(() =>
      linesOf(one).some(({ msg, pipelines }) => msg === "leading" && pipelines?.[0] === "days"),
    );
    network.cut("three", STORE_ADDRESS, true);
    await delay(75_000);
    network.cut("three", STORE_ADDRESS, false);
    network.cut("one", SERVICE_ADDRESS, true);
    await delay(20_000);
    network.cut("one", SERVICE_ADDRESS, false);
    const all = [one, two, three];
    const isDone = (pipeline: string): boolean => all.some((each) => hasCompleted(each, pipeline));
    await until(() => isDone("days") && isDone("minutes"));

    const found = served();
    expect(found.filter(({ status }) => status === 429)).toEqual([]);
    const counts = new Map<string, number>();
    for (const { url, status } of found) if (status === 200) counts.set(url, (counts.get(url) ?? 0) + 1);
    const twice = [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
    console.info("requests", passed(), "of which more than once", twice);
    // Killed, stopped, and cut off twice.
    expect(twice).toBeLessThanOrEqual(4 * IN_FLIGHT);
    const objects = join(place, "store", "lakes", "lake");
    for (const table of ["bars_1d", "bars_1m"]) {
      const sql = `SELECT count(*), count(DISTINCT (symbol, timestamp)), sum(volume), round(sum(close), 2) FROM ${table}
        WHERE symbol IN (${symbols.map((symbol) => `'${symbol}'`).join(", ")}) AND trade_date >= '${from}'`;
      expect([table, await ask(objects, sql)]).toEqual([table, await ask(market, sql)]);
    }
    for (const [step, part] of steps) expect([step, part >= 0.95]).toEqual([step, true]);
  },
  40 * MINUTE,
);
