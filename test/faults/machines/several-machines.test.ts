import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { type RunEnvironment, type RunReport, runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../src/lake/lake.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { workFolder } from "../../../src/lake/local/work-folder.js";
import { FencedError } from "../../../src/lake/log/fence.js";
import { fenceOff } from "../../../src/lake/log/fence-off.js";
import { takeRun } from "../../../src/lake/requests/run-lease.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { barsOn } from "../../jobs/scripted-market.js";
import {
  land,
  openSession,
  queryLake,
  T0,
  temporaryFolder,
  temporaryLake,
} from "../../lake/temporary-lake.js";
import { type VirtualClock, virtualClock } from "../clock/virtual-clock.js";
import { json, type Script, type Seen, startScripted } from "../service/scripted-service.js";

const DAY = 86_400_000;
const DAYS = Array.from({ length: 90 }, (_, n) => Date.parse("2023-10-01T16:00:00Z") + n * DAY).filter(
  (ms) => ![5, 6].includes(new Date(ms).getUTCDay()),
);
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2023-10-02" };
const SYMBOLS = ["600000.SH", "600004.SH"];
const AFTER_STALE_MS = 61_000;
/** A known cap that makes many requests of few days. */
const SMALL: NonNullable<RunEnvironment["limits"]> = {
  limits: { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: { "1m": 1000 } },
  learn: () => {},
};

const barsOf = (seen: Seen): object =>
  barsOn(
    DAYS.flatMap((day) => [571, 600, 690, 900].map((minute) => day + minute * 60_000)),
    seen,
  );

/** A machine: its clock, and runs of it. */
interface Machine {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly lake: Lake;
  run(more?: Partial<RunEnvironment>, symbols?: readonly string[]): Promise<RunReport>;
}

/**
 * A service, a shared storage, and machines with separate work folders, and with clocks that differ by an hour. The
 * store's time is the test's; leases are renewed only where a run does so itself.
 */
async function setUp(script: (...request: Parameters<Script>) => void | Promise<void>) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startScripted((...request) => void script(...request));
  const place = temporaryFolder();
  const store = { aheadMs: 0 };
  const shared = folderStorage(join(place, "lake"));
  const storageOf = (over: Partial<Storage>, stopped: () => Promise<unknown> | undefined): Storage => ({
    ...shared,
    leases(folder) {
      const leases = shared.leases(folder);
      return {
        ...leases,
        now: async () => (await leases.now()) + store.aheadMs,
        // Whatever else the machine does at the same time is stopped, too.
        async renew(...record) {
          await stopped();
          return leases.renew(...record);
        },
      };
    },
    ...over,
  });
  const machine = (
    name: string,
    start: string,
    over: (storage: Storage) => Partial<Storage> = () => ({}),
    stopped: () => Promise<unknown> | undefined = () => undefined,
  ) => {
    const clock = virtualClock(start);
    const work = workFolder(join(place, name));
    const lake = new Lake(work.path, { storage: storageOf(over(shared), stopped), work, hasDatabase: false });
    const run: Machine["run"] = (more = {}, symbols = SYMBOLS) => {
      const client = new ServiceClient({ baseUrl: service.url, apiKey: name, clock, retries: 0 });
      onTestFinished(() => client.close());
      return runPipeline(
        definePipeline(MINUTE),
        { symbols },
        { lake, client, clock, limits: SMALL, ...more },
      );
    };
    return { name, clock, lake, run } satisfies Machine;
  };
  /** A process of a machine is stopped for so long: all clocks go on. */
  const pause = (paused: Machine, ms = AFTER_STALE_MS): void => {
    store.aheadMs += ms;
    paused.clock.advance(ms);
  };
  const askedBy = (name: string): Seen[] =>
    service.seen.filter(({ headers }) => headers["x-api-key"] === name);
  return { service, shared, machine, pause, askedBy };
}

const windowOf = ({ query }: Seen): string => `${query.get("start_time")}-${query.get("end_time")}`;

async function barsIn(lake: Lake): Promise<unknown> {
  return queryLake(lake, "SELECT symbol, count(*)::INT AS n FROM bars_1m GROUP BY ALL ORDER BY ALL");
}
const ALL = SYMBOLS.map((symbol) => ({
  symbol,
  n: DAYS.filter((day) => day < Date.parse("2023-12-30")).length * 4,
}));

async function takeovers(lake: Lake): Promise<string[]> {
  const names = [...(await lake.snapshots())].flatMap(({ table, txns }) =>
    [...txns.keys()].filter((id) => id.startsWith("fenced/")).map(() => table.name),
  );
  return names.sort();
}

test("a run that was stopped for longer than its lease asks for nothing more and commits nothing; nothing is lost", async () => {
  let second: Promise<RunReport> | undefined;
  let askedBefore = 0;
  const { service, machine, pause, askedBy } = await setUp(async (seen, response) => {
    if (seen.headers["x-api-key"] === "one" && askedBy("one").length === 2 && second === undefined) {
      // Now the first machine is stopped, with this request in flight, and wakes when the second one has ended.
      pause(one);
      second = two.run();
      await second;
      one.clock.advance(AFTER_STALE_MS);
      askedBefore = askedBy("one").length;
    } else if (seen.headers["x-api-key"] === "one") await second;
    json(response, 200, { data: barsOf(seen) });
  });
  const one: Machine = machine(
    "one",
    "2024-01-13T00:00:00Z",
    () => ({}),
    () => second,
  );
  const two = machine("two", "2024-01-13T01:00:00Z");
  const first = await one.run();
  expect(await second).toMatchObject({ status: "complete", failures: [] });
  expect(first).toMatchObject({
    status: "failed",
    stopped: expect.stringMatching(/taken over .*run the command again/),
  });
  expect(askedBy("one")).toHaveLength(askedBefore);
  expect(askedBy("two").length).toBeGreaterThan(askedBefore + 5);
  expect(await takeovers(one.lake)).toEqual(["bars_1m", "requests", "trading_days"]);
  expect(await barsIn(one.lake)).toEqual(ALL);

  // What was asked for twice had been in flight, or had not landed, when the first machine was stopped.
  const twice = askedBy("two").filter((seen) =>
    askedBy("one").some((other) => windowOf(other) === windowOf(seen)),
  );
  expect(twice.length).toBeLessThanOrEqual(askedBefore);
  const before = service.seen.length;
  expect(await one.run()).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(await barsIn(two.lake)).toEqual(ALL);
  expect(service.seen).toHaveLength(before);
});

test("a commit that was stopped right before it is written is not made once another machine has taken over", async () => {
  let second: Promise<RunReport> | undefined;
  const commits: string[] = [];
  const { machine, pause } = await setUp((seen, response) => json(response, 200, { data: barsOf(seen) }));
  const two = machine("two", "2024-01-13T01:00:00Z");
  const one: Machine = machine(
    "one",
    "2024-01-13T00:00:00Z",
    (storage) => ({
      async putIfAbsent(path, text) {
        if (path.startsWith("bars_1m/_delta_log/") && second === undefined) {
          pause(one);
          second = two.run();
          await second;
        }
        const isDone = await storage.putIfAbsent(path, text);
        if (isDone && second !== undefined) commits.push(path.split("/")[0] ?? "");
        return isDone;
      },
    }),
    () => second,
  );
  const first = await one.run();
  expect(first).toMatchObject({ status: "failed", stopped: expect.stringContaining("taken over") });
  expect(await second).toMatchObject({ status: "complete" });
  // Only the record of the run itself.
  expect([...new Set(commits)]).toEqual(["runs"]);
  expect(await barsIn(one.lake)).toEqual(ALL);
  expect(await one.run()).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(await barsIn(one.lake)).toEqual(ALL);
});

test("whatever a former holder believes, its commit comes before that of the one that took over, or is not made", async () => {
  const lake = temporaryLake();
  const session = await openSession();
  const former = { id: "former", confirm: async () => {} };
  const landAs = (close: number, id: string): Promise<LandReport> =>
    land(session, lake, BARS_1D, [{ at: T0, close }], { fence: { ...former, id } });
  await landAs(1, "former");
  await fenceOff(lake, BARS_1D, { id: "former", runId: "x" }, T0);
  await fenceOff(lake, BARS_1D, { id: "former", runId: "x" }, T0);
  await expect(landAs(2, "former")).rejects.toThrow(FencedError);
  expect(await landAs(3, "later")).toMatchObject({ updated: 1, version: 2 });
  const unmade = temporaryLake();
  await fenceOff(unmade, BARS_1D, { id: "former", runId: "x" }, T0);
  expect((await unmade.snapshot(BARS_1D)).version).toBe(0);
});

test("the lease of a run is confirmed without a question while it is recent, and refused once it was taken over", async () => {
  const { machine, pause } = await setUp(() => {});
  const [one, two] = [machine("one", "2024-01-13T00:00:00Z"), machine("two", "2024-01-13T01:00:00Z")];
  const subject = { pipeline: "minute", asks: ["bars_1m"], tables: ["bars_1m"] };
  const first = await takeRun(one.lake, { ...subject, runId: "1" }, one);
  await first.confirm();
  pause(one);
  const second = await takeRun(two.lake, { ...subject, runId: "2" }, two);
  await expect(first.confirm()).rejects.toThrow("another process has taken over");
  await second.confirm();
  await Promise.all([first.release(), second.release()]);
});

test("a run that asks for the same as another one says who that is, or waits; another region goes on beside it", async () => {
  let others: Promise<[unknown, RunReport, RunReport]> | undefined;
  const { machine, askedBy } = await setUp(async (seen, response) => {
    if (others === undefined) {
      const doing = new Promise<string>((resolve) => {
        const onProgress: RunEnvironment["onProgress"] = (progress) => {
          if (progress.doing.startsWith("waiting")) resolve(progress.doing);
        };
        waiting = two.run({ waits: true, onProgress });
      });
      const refused = two.run().catch((error: unknown) => error);
      const elsewhere = two.run({}, ["00700.HK"]);
      others = Promise.all([refused, elsewhere, doing.then(() => elsewhere)]);
      await others;
    }
    json(response, 200, { data: barsOf(seen) });
  });
  let waiting: Promise<RunReport> | undefined;
  const one = machine("one", "2024-01-13T00:00:00Z");
  const two = machine("two", "2024-01-13T01:00:00Z");
  expect(await one.run()).toMatchObject({ status: "complete" });
  const [refused] = (await others) ?? [];
  expect(refused).toMatchObject({
    name: "RunInUseError",
    message: expect.stringMatching(
      /^the same is asked for by "run minute" \(process \d+ on .+\) since 2024-01-13T00:00/,
    ),
    hint: "wait for it to end, or give `waits: true`",
  });
  expect(await waiting).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(new Set(askedBy("two").map(({ query }) => query.get("symbols")))).toEqual(new Set(["00700.HK"]));
});

test("a run whose machine was cut off from the store for a while goes on where nobody has taken over", async () => {
  let isPaused = false;
  const { machine, pause } = await setUp((seen, response) => {
    if (!isPaused) pause(one);
    isPaused = true;
    json(response, 200, { data: barsOf(seen) });
  });
  const one = machine("one", `2024-01-13T00:00:00Z`);
  expect(await one.run({}, [...SYMBOLS])).toMatchObject({ status: "complete" });
  expect(await takeovers(one.lake)).toEqual([]);
});
