import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Clock } from "../../../src/core/time.js";
import { RequestLeases } from "../../../src/lake/requests/request-leases.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { timeIn } from "../../../src/lease/folder-leases.js";
import { temporaryLake } from "../temporary-lake.js";

const SUBJECT = { dataset: "bars_1d", symbols: ["600519.SH"] };
/** A process of this machine that runs. */
const HERE = { runId: "other", host: hostname(), pid: process.pid };
const ELSEWHERE = { runId: "other", host: "elsewhere", pid: 1 };

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
    const lease = join(lake.location, "leases", "other.json");
    const owner = join(lake.location, "spool", "other", "owner.json");
    mkdirSync(lake.work.staging, { recursive: true });
    const silent = (await timeIn(lake.work.staging)) / 1000 - 120;
    for (const path of [lease, owner]) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify({ ...HERE, ...SUBJECT }));
      utimesSync(path, silent, silent);
    }
    const beat = sleeping(async () => {
      if (isAlive) for (const path of [lease, owner]) writeFileSync(path, readFileSync(path));
    });
    const leases = new RequestLeases(lake, "mine", beat);
    expect((await leases.take(SUBJECT)) === undefined).toBe(isAlive);
    expect(existsSync(lease)).toBe(isAlive);
    utimesSync(owner, silent, silent);
    const taken = await ResponseSpool.takeOver(lake, "mine", beat);
    expect(taken).toHaveLength(isAlive ? 0 : 1);
    expect(beat.slept).toEqual([10_000, 10_000]);
    for (const store of taken) await store.close();
    await leases.close();
  },
);

test("a lease that another run deleted is written again, until it is released", async () => {
  stopHeartbeats();
  const lake = temporaryLake();
  const folder = join(lake.location, "leases");
  const leases = new RequestLeases(lake, "mine");
  const lease = await leases.take(SUBJECT);
  const [name = ""] = readdirSync(folder);
  const content = readFileSync(join(folder, name), "utf8");
  rmSync(folder, { recursive: true });
  await vi.advanceTimersByTimeAsync(5000);
  while (!existsSync(join(folder, name))) await setImmediate();
  expect(readFileSync(join(folder, name), "utf8")).toBe(content);
  expect(await new RequestLeases(lake, "other").take(SUBJECT)).toBeUndefined();
  await lease?.release();
  expect(readdirSync(folder)).toEqual([]);
  await leases.close();
});

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
    const lease = join(lake.location, "leases", "other.json");
    const owner = join(lake.location, "spool", "other", "owner.json");
    for (const path of [lease, owner]) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify({ ...ELSEWHERE, ...SUBJECT }));
    }
    setClock(hours);
    const leases = new RequestLeases(lake, "mine");
    expect(await leases.take(SUBJECT)).toBeUndefined();
    expect(await ResponseSpool.takeOver(lake, "mine")).toEqual([]);
    // After two minutes without a sign of life.
    const silent = (await timeIn(lake.location)) / 1000 - 120;
    for (const path of [lease, owner]) utimesSync(path, silent, silent);
    const taken = await leases.take(SUBJECT);
    expect(taken).toBeDefined();
    await taken?.release();
    const [store] = await ResponseSpool.takeOver(lake, "mine");
    expect(store).toBeDefined();
    await store?.close();
    await leases.close();
  },
);
