import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../src/client/system-clock.js";
import type { Clock } from "../../../src/core/time.js";
import type { Lake } from "../../../src/lake/lake.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { type RunLease, takeRun } from "../../../src/lake/requests/run-lease.js";
import { timeIn } from "../../../src/lease/folder-leases.js";
import { temporaryLake } from "../temporary-lake.js";

const SUBJECT = { pipeline: "daily", asks: ["bars_1d"], tables: [] };
/** The content of the lease of another run. */
const OTHER = { ...SUBJECT, runId: "other", since: "2024-01-01T00:00:00Z" };
/** A process of this machine that runs. */
const HERE = { ...OTHER, host: hostname(), pid: process.pid };
const ELSEWHERE = { ...OTHER, host: "elsewhere", pid: 1 };

/** Takes the lease of a run; undefined where the run would have to wait. */
function tryRun(lake: Lake, clock: Clock): Promise<RunLease | undefined> {
  const stop = new AbortController();
  const onWait = (): void => stop.abort();
  return takeRun(lake, { ...SUBJECT, runId: "mine" }, { clock, signal: stop.signal, onWait }).catch(
    (error: unknown) => {
      if (!stop.signal.aborted) throw error;
      return undefined;
    },
  );
}

/** Heartbeats come only when a test advances their timers: on a slow machine one could come within any step of a test. */
function stopHeartbeats(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A clock whose sleep runs something instead. */
function sleeping(doing: () => Promise<void>): Clock & { slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => 0,
    sleep: async (ms) => {
      slept.push(ms);
      await doing();
    },
  };
}

test.each([true, false])(
  "what a running process has is its own after a suspend, if its heartbeat comes again: %s",
  async (isAlive) => {
    stopHeartbeats();
    const lake = temporaryLake();
    const lease = join(lake.location, "leases/runs/other.json");
    const owner = join(lake.location, "spool", "other", "owner.json");
    mkdirSync(lake.work.staging, { recursive: true });
    const silent = (await timeIn(lake.work.staging)) / 1000 - 120;
    for (const path of [lease, owner]) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify(HERE));
      utimesSync(path, silent, silent);
    }
    const beat = sleeping(async () => {
      if (isAlive) for (const path of [lease, owner]) writeFileSync(path, readFileSync(path));
    });
    const run = await tryRun(lake, beat);
    expect([run === undefined, existsSync(lease)]).toEqual([isAlive, isAlive]);
    utimesSync(owner, silent, silent);
    const taken = await ResponseSpool.takeOver(lake, "mine", beat);
    expect(taken).toHaveLength(isAlive ? 0 : 1);
    expect(beat.slept.filter((ms) => ms === 10_000)).toHaveLength(2);
    for (const store of taken) await store.close();
    await run?.release();
  },
);

test("a run whose responses were taken over stores the next ones in a new folder", async () => {
  stopHeartbeats();
  const lake = temporaryLake();
  const store = ResponseSpool.of(lake, "run-1");
  await store.store("000001", { n: 1 });
  const owner = join(lake.location, "spool", "run-1", "owner.json");
  utimesSync(owner, 1, 1);
  const clock = sleeping(async () => {});
  const [taken] = await ResponseSpool.takeOver(lake, "run-2", clock);
  expect(await taken?.ids()).toEqual(["000001"]);
  await Promise.all([store.store("000002", { n: 2 }), store.store("000003", { n: 3 })]);
  expect(await store.ids()).toEqual(["000002", "000003"]);
  expect(await ResponseSpool.takeOver(lake, "run-3", clock)).toEqual([]);
  await taken?.close();
  await store.close();
  expect(readdirSync(join(lake.location, "spool")).sort()).toEqual(["run-1", "run-1~run-2"]);
});

/** Sets the clock of this process only, by the given number of hours. */
function setClock(hours: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
}

test.each([
  ["an hour ahead", 1],
  ["an hour back", -1],
])(
  "what another machine asks for, and has received, stays its own where this clock is %s",
  async (_, hours) => {
    const lake = temporaryLake();
    const lease = join(lake.location, "leases/runs/other.json");
    const owner = join(lake.location, "spool", "other", "owner.json");
    for (const path of [lease, owner]) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify(ELSEWHERE));
    }
    setClock(hours);
    expect(await tryRun(lake, systemClock)).toBeUndefined();
    expect(await ResponseSpool.takeOver(lake, "mine")).toEqual([]);
    // After two minutes without a sign of life.
    const silent = (await timeIn(lake.location)) / 1000 - 120;
    for (const path of [lease, owner]) utimesSync(path, silent, silent);
    const taken = await tryRun(lake, systemClock);
    expect(taken).toBeDefined();
    await taken?.release();
    const [store] = await ResponseSpool.takeOver(lake, "mine");
    expect(store).toBeDefined();
    await store?.close();
  },
);

test("who takes over the run of another machine finds what it had received, although that was renewed later", async () => {
  const lake = temporaryLake();
  mkdirSync(lake.work.staging, { recursive: true });
  const now = (await timeIn(lake.work.staging)) / 1000;
  for (const [path, silentFor] of [
    [join(lake.location, "leases/runs/other.json"), 61],
    [join(lake.location, "spool/other/owner.json"), 55],
  ] as const) {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, JSON.stringify(ELSEWHERE));
    utimesSync(path, now - silentFor, now - silentFor);
  }
  const taken = await tryRun(lake, systemClock);
  expect(taken).toBeDefined();
  const stores = await ResponseSpool.takeOver(lake, "mine");
  expect(stores).toHaveLength(1);
  for (const store of stores) await store.close();
  await taken?.release();
});
