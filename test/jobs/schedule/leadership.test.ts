import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import type { LastRun } from "../../../src/jobs/run/report/run-history.js";
import { type Leadership, lead } from "../../../src/jobs/schedule/leadership.js";
import { catchUpWith, dueAt, initialStates } from "../../../src/jobs/schedule/pipeline-state.js";
import { Lake } from "../../../src/lake/lake.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-20T10:00:00Z");

/** Machines with one lake, whose clocks differ; the time of its store is what the test sets. */
function setUp() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const store = { aheadMs: 0 };
  const shared = folderStorage(temporaryFolder());
  const storage = {
    ...shared,
    leases(folder: string) {
      const leases = shared.leases(folder);
      return { ...leases, now: async () => (await leases.now()) + store.aheadMs };
    },
  };
  const machine = (aheadMs: number) => {
    const time = { now: NOW + aheadMs };
    const standby: string[] = [];
    const ending = new AbortController();
    const clock = {
      now: () => time.now,
      async sleep(_: number, signal?: AbortSignal) {
        await setImmediate();
        signal?.throwIfAborted();
      },
    };
    const leads = (...pipelines: string[]): Promise<Leadership> =>
      lead(new Lake("unused", { storage }), pipelines, {
        clock,
        signal: ending.signal,
        onStandby: (name) => void standby.push(name),
      });
    return { time, standby, ending, leads };
  };
  return { store, machine };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

test("one schedule leads; the next one leads when it ends, and knows before whom it waits for", async () => {
  const { machine } = setUp();
  const [one, two, other] = [machine(0), machine(HOUR), machine(0)];
  const first = await one.leads("daily", "minute");
  const second = two.leads("minute");
  await until(() => two.standby.length > 0);
  expect(two.standby[0]).toMatch(/^process \d+ on .+, since 2026-11-20T10:00:00/);
  // Other pipelines are led by whom they are given to.
  await (await other.leads("reference")).release();
  await first.release();
  const leadership = await second;
  expect([await leadership.confirm(), two.standby]).toEqual([true, [expect.any(String)]]);
  const third = one.leads("daily", "minute");
  one.ending.abort(new Error("ended"));
  await expect(third).rejects.toThrow("ended");
  await leadership.release();
});

test("one that was stopped for longer than its lease has lost it when it wakes, before it begins anything", async () => {
  const { store, machine } = setUp();
  const [one, two] = [machine(0), machine(HOUR)];
  const first = await one.leads("daily");
  const second = two.leads("daily");
  await until(() => two.standby.length > 0);
  for (const aheadMs of [19_000, 31_000]) {
    expect([await first.confirm(), first.lost.aborted]).toEqual([true, false]);
    store.aheadMs = aheadMs;
  }
  const leadership = await second;
  one.time.now += 31_000;
  expect([await first.confirm(), first.lost.aborted]).toEqual([false, true]);
  expect(await leadership.confirm()).toBe(true);
  await leadership.release();
  await first.release();
});

const LAST: LastRun = {
  status: "complete",
  startedAt: NOW - HOUR,
  finishedAt: NOW - HOUR,
  lastSuccessAt: NOW,
};

test.each([
  ["that another machine has run", { missed: true, neverRun: false }, LAST, NOW + HOUR],
  [
    "that nobody has run while this one stood by",
    { missed: false, neverRun: false },
    { ...LAST, startedAt: 0 },
    NOW,
  ],
  ["that never ran", { missed: true, neverRun: false }, undefined, NOW],
  [
    "whose run was killed with its machine",
    { missed: true, neverRun: false },
    { ...LAST, status: "interrupted" },
    NOW - 23 * HOUR,
  ],
] as const)("after a takeover a pipeline is due once: one %s", (_, catchUp, last, due) => {
  const pipeline = definePipeline({ name: "mine", kind: "reference", schedule: { cron: "0 * * * *" } });
  const always = (): boolean => true;
  const states = initialStates([pipeline], new Map(), catchUp, NOW - HOUR);
  const runs = new Map(last === undefined ? [] : [["mine", last]]);
  // It began to stand by a minute before a due time, and leads half an hour after it.
  catchUpWith(states, runs, catchUp, NOW - 60_000, NOW + HOUR / 2);
  const [state] = states;
  const isDue = last === LAST ? NOW : due;
  expect(state && dueAt(state, always)).toBe(isDue);
});
