import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { type RunReport, runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../src/lake/lake.js";
import { checkTable } from "../../src/lake/maintenance/check/check-table.js";
import { objectStorage } from "../../src/lake/storage/object-storage.js";
import { openStorePlace } from "../../src/object-store/store-place.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { runCli } from "../cli/run-cli.js";
import { barsOn } from "../jobs/scripted-market.js";
import { queryLake, temporaryFolder } from "../lake/temporary-lake.js";
import type { Fault, Passing } from "../object-store/faulty-store.js";
import { laggingLists } from "../object-store/lagging-lists.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { once } from "../once.js";
import { cases, pickFrom, SWEEP } from "../sweep.js";
import { virtualClock } from "./clock/virtual-clock.js";
import { json, startScripted } from "./service/scripted-service.js";

const DAY = 86_400_000;
const DAYS = Array.from({ length: 60 }, (_, n) => Date.parse("2023-10-01T16:00:00Z") + n * DAY).filter(
  (ms) => ![5, 6].includes(new Date(ms).getUTCDay()),
);
const SYMBOLS = ["600000.SH", "600004.SH"];
const DAILY = definePipeline({ name: "daily", kind: "bars", period: "1d", from: "2023-10-02" });
const IMPORT = { map: {}, volumeUnit: "shares", barLabel: "end" } as const;
const COUNT = "SELECT symbol, count(*)::INT AS bars, count(DISTINCT timestamp)::INT AS days FROM bars_1d";
const BARS = `${COUNT} GROUP BY symbol ORDER BY symbol`;

const FAILS: Fault = { kind: "refused", status: 500, code: "InternalError" };
const isLog = ({ key }: Passing): boolean => key.includes("bars_1d/_delta_log/");
const isPut = ({ method }: Passing): boolean => method === "PUT";
/** Faults that last: after all attempts the command fails. */
const FAULTS: readonly [string, (passing: Passing) => Fault | undefined][] = [
  ["refuses data files", (one) => (isPut(one) && one.key.endsWith(".parquet") ? FAILS : undefined)],
  ["refuses commits", (one) => (isPut(one) && isLog(one) ? FAILS : undefined)],
  [
    "makes commits, and its responses are lost",
    (one) => (isPut(one) && isLog(one) ? { kind: "lost" } : undefined),
  ],
  ["refuses writes", (one) => (isPut(one) && one.key.includes("bars_1d/") ? FAILS : undefined)],
  [
    "is overloaded",
    (one) => (one.key.includes("bars_1d/") ? { ...FAILS, status: 503, code: "SlowDown" } : undefined),
  ],
];

describe.skipIf(!HAS_STORE)("a store that is not well", () => {
  const stores = storeLakes(false);

  /** An empty lake on the store. Its pauses take no time. */
  async function setUp() {
    const location = stores.newLocation();
    const clock = { now: () => Date.now(), sleep: () => turn() };
    const open = async (): Promise<Lake> => {
      const place = await openStorePlace(location, { env: stores.env, clock, retries: 2 });
      onTestFinished(() => place.store.close());
      await place.expectWritable();
      const storage = objectStorage(place, { extensions: stores.env.BARLAKE_DUCKDB_EXTENSIONS });
      return new Lake(location, { environment: stores.env, storage, hasDatabase: false });
    };
    return { location, open, lake: await open() };
  }

  /** Runs some work while the store misbehaves. */
  async function through<T>(
    faultOf: (passing: Passing) => Fault | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const before = stores.store.faultOf;
    stores.store.faultOf = faultOf;
    try {
      return await work();
    } finally {
      stores.store.faultOf = before;
    }
  }

  const hasNoError = async (lake: Lake): Promise<void> => {
    const { findings } = await checkTable(lake, BARS_1D, { deep: true });
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  };

  test.each(pickFrom(FAULTS, cases({ few: 1, more: 5, all: 5 }), [2]))(
    "that %s: a run keeps what it has received, and the next one lands it and asks for nothing again",
    async (_, faultOf) => {
      const { open, lake } = await setUp();
      const service = await startScripted((seen, response) =>
        json(response, 200, { data: barsOn(DAYS, seen) }),
      );
      const run = async (): Promise<RunReport | Error> => {
        const clock = virtualClock("2023-12-01T00:00:00Z");
        const client = new ServiceClient({ baseUrl: service.url, apiKey: "key", clock, retries: 0 });
        onTestFinished(() => client.close());
        return runPipeline(DAILY, { symbols: SYMBOLS }, { lake: await open(), client, clock }).catch(
          (error: Error) => error,
        );
      };
      // The lake knows the trading days, so that the fault meets the landing.
      const first = await through((one) => (service.seen.length > 0 ? faultOf(one) : undefined), run);
      expect(first).not.toMatchObject({ status: "complete" });
      const asked = service.seen.length;
      expect(asked).toBeGreaterThan(0);
      expect(await run()).toMatchObject({ status: "complete" });
      const windows = service.seen.map(({ query }) => `${query.get("start_time")} ${query.get("end_time")}`);
      expect(new Set(windows).size).toBe(windows.length);
      expect(await queryLake(lake, BARS)).toEqual(
        SYMBOLS.map((symbol) => ({ symbol, bars: DAYS.length, days: DAYS.length })),
      );
      await hasNoError(lake);
    },
  );

  const row = (symbol: string, n: number): string =>
    `${symbol},${new Date(Date.UTC(2026, 2, 2 + n, 7)).toISOString()},10,11,9,10,100,1000\n`;
  /** A file of five days of bars. */
  function csv(): string {
    const file = join(temporaryFolder(), "bars.csv");
    const rows = SYMBOLS.flatMap((symbol) => Array.from({ length: 5 }, (_, n) => row(symbol, n)));
    writeFileSync(file, `symbol,timestamp,open,high,low,close,volume,amount\n${rows.join("")}`);
    return file;
  }

  test.each(pickFrom(FAULTS, cases({ few: 1, more: 5, all: 5 }), [2]))(
    "that %s: an import fails, and the next one lands each row once",
    async (_, faultOf) => {
      const { open, lake } = await setUp();
      const file = csv();
      const clock = virtualClock("2026-04-01T00:00:00Z");
      const load = async () =>
        runImport(await open(), "bars_1d", [file], { ...IMPORT, runId: "import" }, clock);
      await expect(through(faultOf, load)).rejects.toMatchObject({ hint: expect.any(String) });
      await load();
      expect(await queryLake(lake, BARS)).toEqual(SYMBOLS.map((symbol) => ({ symbol, bars: 5, days: 5 })));
      await hasNoError(lake);
    },
  );

  test.skipIf(SWEEP === "few")(
    "whose lists lag is refused, or waited for: no row is lost or doubled",
    async () => {
      const { open, lake } = await setUp();
      const clock = virtualClock("2026-04-01T00:00:00Z");
      const file = csv();
      const load = async (runId: string) =>
        runImport(await open(), "bars_1d", [file], { ...IMPORT, runId }, clock);
      await through(laggingLists(4), async () => {
        await load("first");
        await load("second");
      });
      expect(await queryLake(lake, BARS)).toEqual(SYMBOLS.map((symbol) => ({ symbol, bars: 5, days: 5 })));
      await hasNoError(lake);
    },
  );

  once.each<[string, string[], (passing: Passing) => Fault | undefined]>([
    [
      "ignores conditions",
      ["import", "bars_1d"],
      (one) => (one.isConditional ? { kind: "unconditional" } : undefined),
    ],
    ["has lists that lag", ["import", "bars_1d"], laggingLists(3)],
  ])("that %s is written to by no command, which says why and what to do", async (_, command, faultOf) => {
    const location = stores.newLocation();
    const result = await through(faultOf, () =>
      runCli([...command, csv(), "--lake", location], { env: stores.env }),
    );
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /^error: s3:\/\/\S+ at \S+: the store lacks .*\nhint: .*use a store that has it/m,
    );
    expect(await stores.open(location).storage.walk("")).toEqual([]);
  });

  test.skipIf(SWEEP === "few")(
    "that ignores conditions: a run asks for nothing, and a dataset is not sent to it",
    async () => {
      const { lake: source, location } = await setUp();
      await runImport(
        source,
        "bars_1d",
        [csv()],
        { ...IMPORT, runId: "import" },
        virtualClock("2026-04-01T00:00:00Z"),
      );
      const other = stores.newLocation();
      const place = temporaryFolder();
      const service = await startScripted((seen, response) =>
        json(response, 200, { data: barsOn(DAYS, seen) }),
      );
      const spec = {
        name: "test",
        universe: { region: "CN" },
        from: "2026-03-02",
        fields: ["close"],
        format: "symbol-csv",
        output: `${other}/dataset`,
      };
      writeFileSync(join(place, "dataset.mjs"), `export default ${JSON.stringify(spec)};\n`);
      const env = { ...stores.env, BARLAKE_URL: service.url, BARLAKE_API_KEY: "key" };
      const refused = /the store lacks conditional writes.*\nhint: /;
      await through(
        (one) => (one.isConditional ? { kind: "unconditional" } : undefined),
        async () => {
          const run = await runCli(
            ["run", "daily", "--symbols", SYMBOLS.join(","), "--from", "2023-10-02", "--lake", other],
            { env },
          );
          expect([run.code, service.seen.length]).toEqual([1, 0]);
          expect(run.stderr).toMatch(refused);
          const built = await runCli(["dataset", "build", join(place, "dataset.mjs"), "--lake", location], {
            env,
          });
          expect(built.code).toBe(1);
          expect(built.stderr).toMatch(refused);
        },
      );
      expect(await stores.open(other).storage.walk("")).toEqual([]);
    },
  );
});
