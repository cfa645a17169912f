import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { CONCURRENCY } from "../../../src/jobs/ingest/ask-each.js";
import { SHARED_GROUP_RESPONSES } from "../../../src/jobs/ingest/group-responses.js";
import { MAIN, runCli } from "../../cli/run-cli.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findHttpfs } from "../../object-store/httpfs.js";
import { findStore } from "../../object-store/store-server.js";
import { SWEEP } from "../../sweep.js";
import { SERVICE_URL, type Served, STORE_ENV, startHub, until, usedPart } from "./hub.js";
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
/** Two requests each, of which each pipeline has one: work for 21 minutes, so that neither ends before the last step. */
const SYMBOLS = 420;
const MINUTE = 60_000;
const LAKE = "s3://lakes/lake";
/** A request that was sent while its machine was cut off arrives after that, when its packets are sent again. */
const LATE_MS = 30_000;
/** What a lost run may lose: requests in flight, and responses that were received and had not landed. */
const MOST_LOST = 2 * SHARED_GROUP_RESPONSES + CONCURRENCY;

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

/** What a machine may have lost between two times, in epoch milliseconds. */
interface Loss {
  readonly machine: string;
  readonly since: number;
  readonly until: number;
  readonly most: number;
}

/** Numbers of repeated requests by the loss that explains them: the machine that asked first had it before the second time. */
function repeatsOf(
  served: readonly Served[],
  losses: readonly Loss[],
): { readonly byLoss: readonly number[]; readonly others: readonly (readonly Served[])[] } {
  const byLoss = losses.map(() => 0);
  const others: (readonly Served[])[] = [];
  const asked = new Map<string, Served>();
  for (const again of served) {
    if (again.status !== 200) continue;
    const before = asked.get(again.url);
    asked.set(again.url, again);
    if (before === undefined) continue;
    const n = losses.findIndex(
      (loss) =>
        before.from === loss.machine && before.time <= loss.until + LATE_MS && again.time >= loss.since,
    );
    if (n < 0) others.push([before, again]);
    else byLoss[n] = (byLoss[n] ?? 0) + 1;
  }
  return { byLoss, others };
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
    // Only symbols that have a bar on each day: a response without one is followed by further requests.
    const bars = "bars_1m WHERE region = 'CN'";
    const listed = await ask(
      market,
      `SELECT symbol FROM ${bars} GROUP BY symbol
       HAVING count(DISTINCT trade_date) = (SELECT count(DISTINCT trade_date) FROM ${bars}) ORDER BY symbol LIMIT ${SYMBOLS}`,
    );
    const symbols = listed.split("\n");
    expect(symbols).toHaveLength(SYMBOLS);
    const [from, to] = (await ask(market, `SELECT min(trade_date), max(trade_date) + 1 FROM ${bars}`)).split(
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
    const losses: Loss[] = [];
    /** @param most requests that may be repeated because of it. */
    const losing = async (machine: string, most: number, lose: () => Promise<void>): Promise<void> => {
      const since = Date.now();
      await lose();
      losses.push({ machine: network.addressOf(machine), since, until: Date.now(), most });
    };

    // The first one leads both; of those that stand by, each has one in common with it.
    let one = start("one", ["days", "minutes"]);
    await until(() => passed() > 0);
    const two = start("two", ["days"]);
    // Stores refuse signatures of clocks that are more than a quarter of an hour off.
    const three = start("three", ["minutes"], hasFaketime ? 10 : 0);
    await until(() => [two, three].every((each) => linesOf(each).some(({ msg }) => msg === "standing by")));
    await measure("one leads both", 75_000);
    await losing("one", 2 * MOST_LOST, async () => one.signal("SIGKILL"));
    // Both are led now, by one machine each: they divide the key.
    await until(() => [two, three].every((each) => linesOf(each).some(({ msg }) => msg === "leading")));
    one = start("one", ["days", "minutes"]);
    await measure("one was killed", 130_000);
    await losing("two", MOST_LOST, async () => {
      two.signal("SIGSTOP");
      await delay(75_000);
      two.signal("SIGCONT");
    });
    await until(() =>
      linesOf(one).some(({ msg, pipelines }) => msg === "leading" && pipelines?.[0] === "days"),
    );
    await losing("three", MOST_LOST, async () => {
      network.cut("three", STORE_ADDRESS, true);
      await delay(75_000);
      network.cut("three", STORE_ADDRESS, false);
    });
    // It loses no run: only responses that were on their way.
    await losing("one", 2 * CONCURRENCY, async () => {
      network.cut("one", SERVICE_ADDRESS, true);
      await delay(20_000);
      network.cut("one", SERVICE_ADDRESS, false);
    });
    const all = [one, two, three];
    const isDone = (pipeline: string): boolean => all.some((each) => hasCompleted(each, pipeline));
    await until(() => isDone("days") && isDone("minutes"));

    const found = served();
    expect(found.filter(({ status }) => status === 429)).toEqual([]);
    const repeats = repeatsOf(found, losses);
    console.info("requests", passed(), "repeated by loss", ...repeats.byLoss);
    expect(repeats.others).toEqual([]);
    for (const [n, { most }] of losses.entries()) expect(repeats.byLoss[n]).toBeLessThanOrEqual(most);
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
