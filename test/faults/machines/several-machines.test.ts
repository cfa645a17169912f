import { describe, expect, test } from "vitest";
import { SHARED_GROUP_RESPONSES } from "../../../src/jobs/ingest/landing-records.js";
import { CONCURRENCY } from "../../../src/jobs/run/request/request-sender.js";
import type { RunEnvironment, RunReport } from "../../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../../src/lake/lake.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { fenceOff } from "../../../src/lake/log/commit.js";
import { FencedError } from "../../../src/lake/log/fence.js";
import { leasedRuns, takeRun } from "../../../src/lake/requests/run-lease.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { json, type Seen } from "../service/scripted-service.js";
import {
  AFTER_STALE_MS,
  barsOf,
  DAYS,
  type Machine,
  SMALL,
  SYMBOLS,
  sharedMachines,
} from "./shared-machines.js";

/** A known cap that makes a request of each day. */
const DAILY: typeof SMALL = {
  ...SMALL,
  limits: { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: { "1m": 250 } },
};

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

once(
  "what another machine asks again is bounded: what was in flight, and the groups that had not landed",
  async () => {
    const bound = 2 * SHARED_GROUP_RESPONSES + CONCURRENCY;
    let second: Promise<RunReport> | undefined;
    let leased: Promise<unknown> | undefined;
    const { machine, pause, askedBy } = await sharedMachines(async (seen, response) => {
      if (
        seen.headers["x-api-key"] === "one" &&
        askedBy("one").length === bound + 20 &&
        second === undefined
      ) {
        leased = leasedRuns(one.lake);
        await leased;
        pause(one);
        second = two.run({ limits: DAILY });
      }
      if (seen.headers["x-api-key"] === "one") await second;
      json(response, 200, { data: barsOf(seen) });
    });
    const one: Machine = machine(
      "one",
      "2024-01-13T00:00:00Z",
      () => ({}),
      () => second,
    );
    const two = machine("two", "2024-01-13T01:00:00Z");
    expect(await one.run({ limits: DAILY })).toMatchObject({ status: "failed" });
    expect(await second).toMatchObject({ status: "complete", failures: [] });
    expect(await leased).toMatchObject({ size: 1 });
    const [before, after] = ["one", "two"].map((name) => new Set(askedBy(name).map(windowOf))) as [
      Set<string>,
      Set<string>,
    ];
    // A window without a bar is asked for twice by one run, too.
    const again = [...after].filter((window) => before.has(window));
    expect(again.length).toBeGreaterThan(0);
    expect(again.length).toBeLessThanOrEqual(bound);
    // What the first one has is landed by its next run, and changes nothing.
    expect(await one.run({ limits: DAILY })).toMatchObject({ status: "complete", requests: { sent: 0 } });
    expect(await barsIn(one.lake)).toEqual(ALL);
  },
);

once(
  "also where a former holder does not know it, its commit comes before that of the one that took over, or is not made",
  async () => {
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
  },
);

describe.each(pickFrom(["store", "folder"] as const, { few: 1, more: 2, all: 2 }))(
  "runs on a lake in a %s",
  (form) => {
    test("a run that was stopped for longer than its lease asks for nothing more and commits nothing; nothing is lost", async () => {
      let second: Promise<RunReport> | undefined;
      let askedBefore = 0;
      const { service, machine, pause, askedBy } = await sharedMachines(async (seen, response) => {
        if (seen.headers["x-api-key"] === "one" && askedBy("one").length === 2 && second === undefined) {
          // Now the first machine is stopped, with this request in flight, and wakes when the second one has ended.
          pause(one);
          second = two.run();
          await second;
          one.clock.advance(AFTER_STALE_MS);
          askedBefore = askedBy("one").length;
        } else if (seen.headers["x-api-key"] === "one") await second;
        json(response, 200, { data: barsOf(seen) });
      }, form);
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
      const { machine, pause } = await sharedMachines(
        (seen, response) => json(response, 200, { data: barsOf(seen) }),
        form,
      );
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

    test("the lease of a run is confirmed without a question while it is recent, and refused once it was taken over", async () => {
      const { machine, pause } = await sharedMachines(() => {}, form);
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

    test("a run that requests the same as another one waits for it, and says so; another region continues at the same time", async () => {
      let others: Promise<[string, RunReport]> | undefined;
      let waiting: Promise<RunReport> | undefined;
      const { machine, askedBy } = await sharedMachines(async (seen, response) => {
        others ??= Promise.all([
          new Promise<string>((resolve) => {
            const onProgress: RunEnvironment["onProgress"] = ({ doing }) => {
              if (doing.startsWith("waiting")) resolve(doing);
            };
            waiting = two.run({ onProgress });
          }),
          two.run({}, ["00700.HK"]),
        ]);
        if (seen.headers["x-api-key"] === "one") await others;
        json(response, 200, { data: barsOf(seen) });
      }, form);
      const one = machine("one", "2024-01-13T00:00:00Z");
      const two = machine("two", "2024-01-13T01:00:00Z");
      expect(await one.run()).toMatchObject({ status: "complete" });
      expect((await others)?.[0]).toMatch(
        /^waiting for "run minute" \(process \d+ on .+\) since 2024-01-13T00:00/,
      );
      expect(await waiting).toMatchObject({ status: "complete", requests: { sent: 0 } });
      expect(new Set(askedBy("two").map(({ query }) => query.get("symbols")))).toEqual(new Set(["00700.HK"]));
    });

    test("a signal ends a run that waits, and leaves nothing of it", async () => {
      const { machine } = await sharedMachines(() => {}, form);
      const [one, two] = [machine("one", "2024-01-13T00:00:00Z"), machine("two", "2024-01-13T01:00:00Z")];
      const subject = { runId: "1", pipeline: "minute", asks: ["bars_1m"], tables: ["bars_1m"] };
      const first = await takeRun(one.lake, subject, one);
      const [stop, ended] = [new AbortController(), new Error("the process ends")];
      const onProgress = (): void => stop.abort(ended);
      await expect(two.run({ signal: stop.signal, onProgress })).rejects.toBe(ended);
      expect([...(await leasedRuns(two.lake)).keys()]).toEqual(["1"]);
      await first.release();
    });

    test("a run does not wait for one that has ended whose tables cannot be read: it names what is wrong", async () => {
      const { machine, pause, shared } = await sharedMachines(() => {}, form);
      const [one, two] = [machine("one", "2024-01-13T00:00:00Z"), machine("two", "2024-01-13T01:00:00Z")];
      const subject = { runId: "1", pipeline: "minute", asks: ["bars_1m"], tables: ["bars_1m"] };
      await takeRun(one.lake, subject, one);
      await shared.putIfAbsent("bars_1m/_delta_log/00000000000000000000.json", "{");
      pause(one);
      await expect(two.run()).rejects.toThrow("table bars_1m");
    });

    test("a run whose machine was cut off from the store for a while goes on where nobody has taken over", async () => {
      let isPaused = false;
      const { machine, pause } = await sharedMachines((seen, response) => {
        if (!isPaused) pause(one);
        isPaused = true;
        json(response, 200, { data: barsOf(seen) });
      }, form);
      const one = machine("one", `2024-01-13T00:00:00Z`);
      expect(await one.run({}, [...SYMBOLS])).toMatchObject({ status: "complete" });
      expect(await takeovers(one.lake)).toEqual([]);
    });
  },
);
