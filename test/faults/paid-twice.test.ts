import { existsSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { type RunEnvironment, type RunOptions, runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../src/lake/lake.js";
import { barsOn } from "../jobs/scripted-market.js";
import { queryLake, temporaryLake } from "../lake/temporary-lake.js";
import { virtualClock } from "./clock/virtual-clock.js";
import { json, type Script, type Seen, startScripted } from "./service/scripted-service.js";

const DAY = 86_400_000;
const DAYS = Array.from({ length: 400 }, (_, n) => Date.parse("2023-01-01T16:00:00Z") + n * DAY).filter(
  (ms) => ![5, 6].includes(new Date(ms).getUTCDay()),
);
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2023-07-01" };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2023-02-01" };
const SYMBOLS = ["600000.SH", "600004.SH", "600009.SH"];

/** Minute bars of a window: four per day are enough for a plan. */
const barsOf = (seen: Seen): object =>
  seen.query.get("period") === "1d"
    ? barsOn(DAYS, seen)
    : barsOn(
        DAYS.flatMap((day) => [571, 600, 690, 900].map((minute) => day + minute * 60_000)),
        seen,
      );

/** A service, a lake, and processes that run on it: each with a separate lake object, client and clock. */
async function setUp(script: Script) {
  const service = await startScripted(script);
  const lake = temporaryLake();
  const run = (
    definition: PipelineDefinition,
    options: RunOptions = {},
    more: Partial<RunEnvironment> = {},
  ) => {
    const clock = virtualClock("2024-01-13T00:00:00Z");
    const client = new ServiceClient({ baseUrl: service.url, apiKey: "key", clock, retries: 0 });
    onTestFinished(() => client.close());
    return runPipeline(definePipeline(definition), options, {
      lake: new Lake(lake.location, { hasDatabase: false }),
      client,
      clock,
      ...more,
    });
  };
  return { service, lake, run };
}

/** Symbols that were requested twice: their windows overlap in two requests. */
function askedTwice(seen: readonly Seen[]): string[] {
  const asked = seen.flatMap(({ query }) => {
    const [start, end] = [Number(query.get("start_time")), Number(query.get("end_time"))];
    return (query.get("symbols") ?? "").split(",").map((symbol) => ({ symbol, start, end }));
  });
  return asked
    .filter((one, index) =>
      asked.some(
        (other, at) =>
          at < index && other.symbol === one.symbol && other.start <= one.end && one.start <= other.end,
      ),
    )
    .map(({ symbol, start }) => `${symbol} ${start}`);
}

async function barsIn(lake: Lake, table: string): Promise<unknown> {
  return queryLake(lake, `SELECT symbol, count(*)::INT AS n FROM ${table} GROUP BY symbol ORDER BY symbol`);
}

test.each([
  ["the same symbols", SYMBOLS, SYMBOLS],
  ["symbols of which some are the same", SYMBOLS.slice(0, 2), SYMBOLS.slice(1)],
])(
  "two runs at once that ask for %s pay for each request once, and both are complete",
  async (_, one, two) => {
    const { service, lake, run } = await setUp((seen, response) =>
      setImmediate(() => json(response, 200, { data: barsOf(seen) })),
    );
    const reports = await Promise.all([run(MINUTE, { symbols: one }), run(MINUTE, { symbols: two })]);
    expect(reports.map(({ status }) => status)).toEqual(["complete", "complete"]);
    expect(service.seen.length).toBeGreaterThan(3);
    expect(askedTwice(service.seen)).toEqual([]);
    const asked = DAYS.filter((day) => day >= Date.parse("2023-06-30T16:00:00Z")).length;
    const symbols = [...new Set([...one, ...two])].sort();
    const bars = (await barsIn(lake, "bars_1m")) as { symbol: string; n: number }[];
    expect(bars.map(({ symbol }) => symbol)).toEqual(symbols);
    expect(new Set(bars.map(({ n }) => n)).size).toBe(1);
    expect(bars[0]?.n).toBeGreaterThan(asked * 3.5);
    expect((await run(MINUTE, { symbols })).requests.sent).toBe(0);
    expect(existsSync(join(lake.location, "leases"))).toBe(false);
  },
);

test("reference data is asked for by one of two runs; the other one waits, and finds it in the lake", async () => {
  const { service, run } = await setUp((seen, response) =>
    setImmediate(() => json(response, 200, { data: [], count: 0, exchange: seen.path })),
  );
  const reference: PipelineDefinition = { name: "reference", kind: "reference" };
  const reports = await Promise.all([run(reference), run(reference)]);
  expect(reports.map(({ requests }) => requests.sent).toSorted((a, b) => a - b)).toEqual([0, 2]);
  expect(service.seen).toHaveLength(2);
});

test.runIf(process.platform === "linux")(
  "a disk that does not take a lease is an error before anything is asked for",
  async () => {
    const { service, lake, run } = await setUp((seen, response) =>
      json(response, 200, { data: barsOf(seen) }),
    );
    await mkdir(join(lake.location, "leases"), { recursive: true });
    // No user can create a file there.
    await symlink("/sys/kernel", join(lake.location, "leases/runs"));
    await expect(run(DAILY, { symbols: SYMBOLS })).rejects.toMatchObject({
      name: "LakeError",
      message: expect.stringContaining("could not be written"),
      hint: expect.stringContaining("once that is repaired, run the command again"),
    });
    expect(service.seen).toHaveLength(0);
  },
);

test("nothing is requested while the disk has no space for it, and the run ends at once", async () => {
  const { service, lake, run } = await setUp((seen, response) => json(response, 200, { data: barsOf(seen) }));
  for (let retry = 0; retry < 3; retry++) {
    const report = await run(DAILY, { symbols: SYMBOLS }, { freeBytes: async () => 3_900_000 });
    expect(report).toMatchObject({ status: "failed", requests: { sent: 0 } });
    expect(report.stopped).toMatch(
      /^the disk of the lake has 3.9 MB free, and the next response may need 4.\d MB: it was not requested; free some space/,
    );
  }
  expect(service.seen).toHaveLength(0);
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete" });
  expect(await barsIn(lake, "bars_1d")).toHaveLength(3);
});

test("a disk that fills up on the way ends the run; what was received before is not requested again", async () => {
  const { service, run } = await setUp((seen, response) => json(response, 200, { data: barsOf(seen) }));
  let looks = 0;
  const report = await run(
    MINUTE,
    { symbols: SYMBOLS },
    { freeBytes: async () => (++looks > 2 ? 1000 : 1e12) },
  );
  expect(report).toMatchObject({ status: "failed", requests: { sent: service.seen.length } });
  expect(service.seen.length).toBeLessThan(3);
  expect(await run(MINUTE, { symbols: SYMBOLS })).toMatchObject({
    status: "complete",
  });
  expect(askedTwice(service.seen)).toEqual([]);
});

test("what is in flight when a run fails is waited for: the next run of the same process does not ask for it again", async () => {
  let hasFailed = false;
  let hasReported = false;
  // This comes some time after the error: a run that does not wait for it lands its report earlier.
  const respondLate = async (seen: Seen, response: Parameters<Script>[1]): Promise<void> => {
    for (let turns = 0; turns < 20_000 && !hasReported; turns += hasFailed ? 1 : 0) {
      await turn();
      hasReported = existsSync(join(lake.location, "runs"));
    }
    json(response, 200, { data: barsOf(seen) });
  };
  const { service, lake, run } = await setUp((seen, response, index) => {
    if (index === 1) void respondLate(seen, response);
    else json(response, 200, { data: barsOf(seen) });
  });
  let looks = 0;
  const freeBytes = async (): Promise<number> => {
    looks += 1;
    hasFailed ||= looks === 4;
    return looks === 4 ? 0 : 1e12;
  };
  const report = await run(MINUTE, { symbols: SYMBOLS }, { freeBytes });
  expect(report).toMatchObject({ status: "failed", stopped: expect.stringMatching(/has 0.0 MB free/) });
  expect(hasReported).toBe(false);
  expect(await run(MINUTE, { symbols: SYMBOLS })).toMatchObject({ status: "complete", failures: [] });
  expect(askedTwice(service.seen)).toEqual([]);
});

test("two runs at once pay for factors of ex-events once, and both are complete", async () => {
  const path = "/v1/klines/ex-factors";
  const { service, lake, run } = await setUp((seen, response) => {
    if (seen.path !== path) return json(response, 200, { data: barsOf(seen) });
    const factors = [{ timestamp: DAYS[100], ex_factor: 1.25 }];
    json(response, 200, { data: Object.fromEntries(SYMBOLS.map((symbol) => [symbol, factors])) });
  });
  const daily = { ...DAILY, exFactors: true } as const;
  const reports = await Promise.all([run(daily, { symbols: SYMBOLS }), run(daily, { symbols: SYMBOLS })]);
  expect(reports.map(({ status }) => status)).toEqual(["complete", "complete"]);
  expect(service.count(path)).toBe(1);
  expect(await barsIn(lake, "ex_factors")).toEqual(SYMBOLS.map((symbol) => ({ symbol, n: 1 })));
});
