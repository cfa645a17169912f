import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { SHARED_GROUP_RESPONSES } from "../../../src/jobs/ingest/landing-records.js";
import { CONCURRENCY } from "../../../src/jobs/run/request/request-sender.js";
import { MAIN, runCli } from "../../cli/run-cli.js";
import { noteOnFailure } from "../../failure-notes.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findHttpfs } from "../../object-store/httpfs.js";
import { findStore } from "../../object-store/store-server.js";
import { SWEEP } from "../../sweep.js";
import { SERVICE_URL, type Served, STORE_ENV, startHub, until } from "./hub.js";
import {
  type MachineProcess,
  networkFault,
  openNetwork,
  SERVICE_ADDRESS,
  STORE_ADDRESS,
} from "./network-machines.js";

const KEY = "key-of-two-machines";
/**
 * The machines keep to half of what the service permits: on a slow computer a request takes longer to the service than they
 * assume. That they never exceed a quota is the subject of simulated-machines.long.test.ts and network-machines.long.test.ts.
 */
const RPM = 60;
/** Two requests each, of which each pipeline has one. */
const SYMBOLS = 200;
/** After another schedule leads, so long until the lease of a run and the part of a key are taken over, too. */
const OUTLIVES_LEASES_MS = 40_000;
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

/** What a machine has printed, without its progress. */
const eventsOf = ({ output }: MachineProcess): string[] =>
  output.stderr.split("\n").filter((line) => !line.includes('"msg":"progress"'));

/** What a machine may have lost between two times, in epoch milliseconds. */
interface Loss {
  readonly machine: string;
  readonly since: number;
  readonly until: number;
  readonly most: number;
}

/**
 * The requests of the windows that the pipelines plan. Where a symbol lacks its first bars, a run asks for the part before
 * them, and where that is empty, once more: that is no repetition.
 */
function wholeWindows(served: readonly Served[]): Served[] {
  const endOf = ({ url }: Served): number =>
    Number(new URL(url, "http://service").searchParams.get("end_time"));
  const last = Math.max(...served.map(endOf));
  return served.filter((one) => endOf(one) === last);
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

/** The steps take some minutes, since leases become stale by the clock of a real store. */
test.runIf(isPossible && SWEEP === "all")(
  "schedules over a store that are killed, cut off and stopped lose and double nothing",
  async () => {
    const place = temporaryFolder();
    const network = openNetwork(["one", "two"]);
    onTestFinished(() => network.close());
    const { market, served } = await startHub(network, place, {
      store: store as string,
      market: ["--symbols", "700", "--days", "20", "--minute-days", "5"],
      key: KEY,
      rpm: 2 * RPM,
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
    const start = (machine: string): MachineProcess => {
      const files = ["days", "minutes"].map((name) => join(place, `${name}.mjs`));
      const env = {
        ...STORE_ENV,
        BARLAKE_URL: SERVICE_URL,
        BARLAKE_API_KEY: KEY,
        BARLAKE_LAKE: LAKE,
        BARLAKE_WORK: join(place, machine),
        // The claims of a machine to its keys.
        XDG_STATE_HOME: join(place, `${machine}-state`),
        BARLAKE_DUCKDB_EXTENSIONS: extensions,
      };
      const command = [process.execPath, MAIN, "schedule", ...files, "--rpm", String(RPM), "--no-scrub"];
      const started = network.start(machine, command, env);
      noteOnFailure({
        subject: `a schedule of machine ${machine} has printed`,
        text: () => eventsOf(started).join("\n"),
      });
      return started;
    };
    const passed = (): number => served().filter(({ status }) => status === 200).length;
    /** Waits until so many further requests have passed, or all have. */
    const more = (count: number): Promise<void> => {
      const before = passed();
      return until(() => passed() >= before + count || isDone());
    };
    const isDone = (): boolean =>
      ["days", "minutes"].every((pipeline) => started.some((each) => hasCompleted(each, pipeline)));
    const leads = (machine: MachineProcess): boolean =>
      linesOf(machine).filter(({ msg }) => msg === "leading").length >= 1;
    const losses: Loss[] = [];
    /** @param most requests that may be repeated because of it. */
    const losing = async (machine: string, most: number, lose: () => Promise<void>): Promise<void> => {
      const since = Date.now();
      await lose();
      losses.push({ machine: network.addressOf(machine), since, until: Date.now(), most });
    };

    const first = start("one");
    await until(() => passed() > 0);
    const two = start("two");
    const started = [first, two];
    await until(() => linesOf(two).some(({ msg }) => msg === "standing by"));
    await more(20);
    await losing("one", 2 * MOST_LOST, async () => first.signal("SIGKILL"));
    await until(() => leads(two));
    const one = start("one");
    started.push(one);
    await until(() => linesOf(one).some(({ msg }) => msg === "standing by"));
    await more(20);
    await losing("two", MOST_LOST, async () => {
      network.cut("two", STORE_ADDRESS, true);
      await until(() => leads(one));
      await delay(OUTLIVES_LEASES_MS);
      network.cut("two", STORE_ADDRESS, false);
    });
    await more(20);
    const ledBefore = linesOf(two).filter(({ msg }) => msg === "leading").length;
    await losing("one", MOST_LOST, async () => {
      one.signal("SIGSTOP");
      await until(() => linesOf(two).filter(({ msg }) => msg === "leading").length > ledBefore);
      await delay(OUTLIVES_LEASES_MS);
      one.signal("SIGCONT");
    });
    await more(10);
    // It loses no run: only responses that were on their way.
    await losing("two", 2 * CONCURRENCY, async () => {
      network.cut("two", SERVICE_ADDRESS, true);
      await delay(10_000);
      network.cut("two", SERVICE_ADDRESS, false);
    });
    await until(isDone);

    const found = served();
    expect(found.filter(({ status }) => status === 429)).toEqual([]);
    const repeats = repeatsOf(wholeWindows(found), losses);
    console.info("requests", passed(), "repeated by loss", ...repeats.byLoss);
    expect(repeats.others).toEqual([]);
    for (const [n, { most }] of losses.entries()) expect(repeats.byLoss[n]).toBeLessThanOrEqual(most);
    const objects = join(place, "store", "lakes", "lake");
    for (const table of ["bars_1d", "bars_1m"]) {
      const sql = `SELECT count(*), count(DISTINCT (symbol, timestamp)), sum(volume), round(sum(close), 2) FROM ${table}
        WHERE symbol IN (${symbols.map((symbol) => `'${symbol}'`).join(", ")}) AND trade_date >= '${from}'`;
      expect([table, await ask(objects, sql)]).toEqual([table, await ask(market, sql)]);
    }
  },
  30 * MINUTE,
);
