import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openReader } from "../../src/lake/open-reader.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { once } from "../once.js";
import { cases } from "../sweep.js";
import { runCli, runProcess } from "./run-cli.js";

const HEAD = "symbol,timestamp,open,high,low,close,volume,amount\n";
const DAYS = ["2026-03-02", "2026-03-03", "2026-03-04"];
const row = (symbol: string, day: string, close: number): string =>
  `${symbol},${day}T07:00:00Z,10,11,9,${close},100,1000\n`;

describe.skipIf(!HAS_STORE)("a lake on a store", () => {
  const stores = storeLakes();

  test.each(["before", "after"].slice(0, cases({ few: 1, more: 2, all: 2 })))(
    "a process that is killed %s its commit loses nothing",
    async (when) => {
      const place = temporaryFolder();
      const file = join(place, "bars.csv");
      writeFileSync(file, HEAD + DAYS.map((day) => row("600519.SH", day, 10)).join(""));
      const lake = stores.newLocation();
      const parameters = ["import", "bars_1d", file, "--lake", lake];
      let kill = (): void => {};
      const { faultOf } = stores.store;
      stores.store.faultOf = ({ method, key }) => {
        if (method !== "PUT" || !key.includes("bars_1d/_delta_log/")) return undefined;
        kill();
        return when === "before" ? { kind: "refused", status: 503, code: "SlowDown" } : { kind: "lost" };
      };
      const killed = await runProcess(parameters, {
        env: stores.env,
        onStart: (child) => {
          kill = () => child.kill("SIGKILL");
        },
      });
      stores.store.faultOf = faultOf;
      expect(killed.code).toBeNull();
      const snapshot = await stores.open(lake).storage.walk("bars_1d");
      expect(snapshot.filter(({ path }) => path.endsWith(".parquet"))).toHaveLength(1);
      expect((await runCli(parameters, { env: stores.env })).code).toBe(0);
      const sql = ["sql", "SELECT count(*) AS bars FROM bars_1d", "--format", "csv", "--lake", lake];
      expect((await runCli(sql, { env: stores.env })).stdout).toBe("bars\n3\n");
      const check = await runCli(["check", "--deep", "--json", "--lake", lake], { env: stores.env });
      expect(check.code).toBe(0);
      const { findings } = JSON.parse(check.stdout) as { findings: { rule: string }[] };
      // What was not committed stays until a vacuum.
      expect(findings.map(({ rule }) => rule)).toEqual(when === "before" ? ["file_unknown"] : []);
    },
  );

  /** A lake with one file, whose reads the store then holds up; counts them. */
  async function heldLake(onRead: () => void): Promise<string> {
    const lake = stores.newLocation();
    const file = join(temporaryFolder(), "bars.csv");
    writeFileSync(file, HEAD + row("600519.SH", "2026-03-02", 10));
    expect((await runCli(["import", "bars_1d", file, "--lake", lake], { env: stores.env })).code).toBe(0);
    const { faultOf } = stores.store;
    onTestFinished(() => {
      stores.store.faultOf = faultOf;
    });
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    onTestFinished(() => release());
    stores.store.faultOf = ({ method, key }) => {
      if (method !== "GET" || !key.endsWith(".parquet")) return undefined;
      onRead();
      return { kind: "held", until };
    };
    return lake;
  }

  once(
    "a read of DuckDB that the store does not respond to ends, and says what did not respond and what to do",
    async () => {
      let reads = 0;
      const lake = stores.open(await heldLake(() => reads++), { patience: { retries: 1, timeoutMs: 1000 } });
      using reader = await openReader(lake, { verify: false });
      await expect(reader.session.json("SELECT sum(close) FROM bars_1d")).rejects.toMatchObject({
        message: expect.stringMatching(
          /^table bars_1d: region=CN\/year=2026\/p-.*\.parquet could not be read from the store at 127\.0\.0\.1:\d+: it did not respond in time to HTTP GET$/,
        ),
        hint: "the store or the network to it is not well; run the command again",
      });
      expect(reads).toBe(2);
    },
  );

  once("Ctrl-C ends a statement that waits for the store, before the store's time is up", async () => {
    let reads = 0;
    let interrupt = (): void => {};
    const lake = await heldLake(() => {
      reads += 1;
      interrupt();
    });
    const query = ["sql", "SELECT sum(close) FROM bars_1d", "--no-verify", "--lake", lake];
    let ended: NodeJS.Signals | null = null;
    const { stdout } = await runProcess(query, {
      env: stores.env,
      onStart: (child) => {
        interrupt = () => child.kill("SIGINT");
        child.once("exit", (_, signal) => {
          ended = signal;
        });
      },
    });
    expect([ended, stdout, reads]).toEqual(["SIGINT", "", 1]);
  });
});
