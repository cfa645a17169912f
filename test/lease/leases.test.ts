import { utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { UsageError } from "../../src/core/errors.js";
import { laterErrors } from "../../src/core/release-after.js";
import type { Clock } from "../../src/core/time.js";
import { acquireLease } from "../../src/lease/acquire-lease.js";
import { folderLeases } from "../../src/lease/folder-leases.js";
import type { LeaseStore } from "../../src/lease/lease-store.js";
import { type LeaseKind, Leases } from "../../src/lease/leases.js";
import { thisProcess } from "../../src/lease/owner.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { SEED } from "../setup.js";

const shape = z.object({ host: z.string(), pid: z.number(), name: z.string() });
type Content = z.infer<typeof shape>;
const STALE_MS = 60_000;
const KIND: LeaseKind<Content> = { content: shape, ownerOf: (content) => content, staleMs: STALE_MS };

const RUNNING = thisProcess();
/** A process that cannot be: its number is above all that there are. */
const ENDED = { host: hostname(), pid: 2 ** 22 + 1 };
const ELSEWHERE = { host: "elsewhere", pid: 1 };

const immediate: Clock = { now: () => 0, sleep: () => setImmediate() };

/** A folder with one record, of another process, that was renewed at 1 s; the time is what the test sets. */
async function other(owner: object) {
  const folder = temporaryFolder();
  const clock = { time: 1000, slept: [] as number[], inSleep: async (): Promise<void> => {} };
  const store: LeaseStore = { ...folderLeases(folder), now: async () => clock.time };
  await store.create("other", JSON.stringify({ ...owner, name: "a" }), "acquired");
  const renewed = (seconds: number): void => utimesSync(join(folder, "other.json"), seconds, seconds);
  renewed(1);
  const sleep = async (ms: number): Promise<void> => {
    clock.slept.push(ms);
    await clock.inSleep();
  };
  const leases = (kind: Partial<LeaseKind<Content>> = {}): Leases<Content> =>
    new Leases(store, { ...KIND, ...kind }, { now: () => clock.time, sleep });
  return { folder, store, clock, renewed, leases };
}

describe("the owner of a lease", () => {
  test.each([
    ["a process of this machine that has ended", ENDED, 0, false, []],
    ["a process of this machine", RUNNING, STALE_MS, true, []],
    ["a silent process of this machine", RUNNING, STALE_MS + 1, false, [10_000]],
    ["a process of another machine", ELSEWHERE, STALE_MS, true, []],
    ["a silent process of another machine", ELSEWHERE, STALE_MS + 1, false, []],
  ])("is judged by its process and its renewals: %s", async (_, owner, silentMs, isAlive, slept) => {
    const { store, clock, leases } = await other(owner);
    clock.time += silentMs;
    expect(await leases().isAlive("other")).toBe(isAlive);
    expect(await store.ids()).toEqual(["other"]);
    clock.slept.length = 0;
    expect((await leases().others()).map(({ content }) => content.name)).toEqual(isAlive ? ["a"] : []);
    expect(await store.ids()).toEqual(isAlive ? ["other"] : []);
    expect(clock.slept).toEqual(slept);
  });

  test("is alive after a suspend where its renewal comes again", async () => {
    const { clock, renewed, leases } = await other(RUNNING);
    clock.time = 1e9;
    clock.inSleep = async () => renewed(1e6);
    expect(await leases().others()).toHaveLength(1);
    expect(clock.slept).toEqual([10_000]);
  });

  test("is alive where it renews its lease while that is removed", async () => {
    const { store, clock, renewed } = await other(ELSEWHERE);
    clock.time = 1e9;
    const late: LeaseStore = {
      ...store,
      remove: async (id, renewedAt) => {
        renewed(1e6);
        return store.remove(id, renewedAt);
      },
    };
    expect(await new Leases(late, KIND, immediate).others()).toHaveLength(1);
    expect(await store.ids()).toEqual(["other"]);
  });

  test("is alive where its process is trusted, and where the time is unknown", async () => {
    const { store, clock, leases } = await other(RUNNING);
    clock.time = 1e9;
    expect(await leases({ trustsProcess: true }).isAlive("other")).toBe(true);
    const timeless = { ...store, now: () => Promise.reject(new Error("read-only")) };
    expect(await new Leases(timeless, KIND, immediate).isAlive("other")).toBe(true);
    expect(clock.slept).toEqual([]);
  });

  test("is unknown for a record that cannot be read: it does not count", async () => {
    const { folder, leases } = await other(RUNNING);
    writeFileSync(join(folder, "other.json"), "{");
    expect(await leases().isAlive("other")).toBe(false);
    expect(await leases().others()).toEqual([]);
    expect(await leases().isAlive("none")).toBe(false);
  });

  test("is judged, and its lease removed, only where it matters; several that are silent share one wait", async () => {
    const { folder, store, clock, leases } = await other(RUNNING);
    for (const name of ["b", "c"]) {
      await store.create(name, JSON.stringify({ ...RUNNING, name }), "acquired");
      utimesSync(join(folder, `${name}.json`), 1, 1);
    }
    clock.time = 1e9;
    expect(await leases().others(({ name }) => name !== "c")).toEqual([]);
    expect([await store.ids(), clock.slept]).toEqual([["c"], [10_000]]);
  });
});

describe("a lease", () => {
  test("is renewed until it is released; one that was removed is lost", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const folder = temporaryFolder();
    const store = folderLeases(folder);
    const leases = new Leases(store, KIND, immediate);
    const own = await leases.add({ ...RUNNING, name: "a" }, { state: "waiting" });
    const fileOf = (id: string): string => join(folder, `${id}.json`);
    utimesSync(fileOf(own.id), 1, 1);
    await vi.advanceTimersByTimeAsync(5000);
    while (((await store.read(own.id))?.renewedAt ?? 0) <= 1000) await setImmediate();
    expect(await own.acquire()).toBe(true);
    expect((await store.read(own.id))?.state).toBe("acquired");
    await store.remove(own.id);
    await vi.advanceTimersByTimeAsync(5000);
    while (!own.lost.aborted) await setImmediate();
    expect(await own.renew()).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
    expect(await store.ids()).toEqual([]);
  });

  test("is valid for less than the time after which others take it over, however its process was stopped", async () => {
    const time = { now: 0, ticks: 0 };
    const clock = { now: () => time.now, monotonic: () => time.ticks, sleep: () => setImmediate() };
    const store = folderLeases(temporaryFolder());
    const leases = new Leases(store, KIND, clock);
    const own = await leases.add({ ...RUNNING, name: "a" });
    // Paused: both clocks go on. Suspended: the monotonic one may stand still. Set back: only the other one moves.
    time.ticks = time.now = STALE_MS - 10_001;
    expect(own.isValid).toBe(true);
    time.ticks = time.now = STALE_MS - 10_000;
    expect(own.isValid).toBe(false);
    expect(await own.renew()).toBe(true);
    expect(own.isValid).toBe(true);
    time.now += STALE_MS;
    expect(own.isValid).toBe(false);
    await own.renew();
    time.now -= 10 * STALE_MS;
    expect(own.isValid).toBe(true);
    await store.remove(own.id);
    expect([await own.renew(), own.isValid]).toEqual([false, false]);
  });

  test("that is abandoned is no longer renewed, and its record remains until it is stale", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const store = folderLeases(temporaryFolder());
    const leases = new Leases(store, KIND, immediate);
    const own = await leases.add({ ...RUNNING, name: "a" });
    await leases.abandon();
    expect(vi.getTimerCount()).toBe(0);
    await leases.close();
    expect([own.isValid, await own.renew(), await store.ids()]).toEqual([false, false, [own.id]]);
  });

  test("is gone when its release has ended, also with a renewal at that time", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const store = folderLeases(temporaryFolder());
    let renew = (): void => {};
    const renewing = new Promise<void>((resolve) => {
      renew = resolve;
    });
    const text = JSON.stringify({ ...RUNNING, name: "a" });
    const slow: LeaseStore = {
      ...store,
      // As a store does that writes a record again to renew it.
      async renew(id, state) {
        await renewing;
        await store.create(id, text, state);
        return true;
      },
    };
    const leases = new Leases(slow, KIND, immediate);
    await leases.add({ ...RUNNING, name: "a" }, { id: "a" });
    await store.create("other", "{}", "acquired");
    await vi.advanceTimersByTimeAsync(5000);
    const closed = leases.close().then(() => store.ids());
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    renew();
    expect(await closed).toEqual(["other"]);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    expect(await store.ids()).toEqual(["other"]);
  });

  test("of an ended owner is removed only after what must be done before", async () => {
    const { store, clock, leases } = await other(ELSEWHERE);
    clock.time = 1e9;
    const done: string[] = [];
    const failing = leases({ onEnded: () => Promise.reject(new Error("no connection")) });
    expect(await failing.others()).toHaveLength(1);
    const onEnded = async ({ id }: { readonly id: string }): Promise<void> => {
      done.push(id, ...(await store.ids()));
    };
    expect(await leases({ onEnded }).others()).toEqual([]);
    expect([done, await store.ids()]).toEqual([["other", "other"], []]);
  });

  test("that cannot be created leaves nothing behind", async () => {
    const failing: LeaseStore = {
      ...folderLeases(temporaryFolder()),
      create: () => Promise.reject(new Error("full")),
    };
    const leases = new Leases(failing, KIND, immediate);
    await expect(leases.add({ ...RUNNING, name: "a" })).rejects.toThrow("full");
    await leases.close();
  });
});

/** Acquires exclusively, or up to a number of leases, in one folder. */
async function acquire(folder: string, name: string, atMost = 1) {
  const leases = new Leases(folderLeases(folder), KIND, immediate);
  const lease = await acquireLease(
    leases,
    { ...RUNNING, name },
    {
      fits: (others) => others.length < atMost,
      rankOf: (content) => content.name,
      expectFree: () => {},
    },
    { clock: immediate },
  );
  return lease;
}

describe("leases at the same time", () => {
  test("are never more than fit, and each is acquired in the end", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 1, max: 2 }),
        async (count, atMost) => {
          const folder = temporaryFolder();
          let now = 0;
          const most = { seen: 0 };
          const work = async (n: number): Promise<void> => {
            const lease = await acquire(folder, String(n), atMost);
            most.seen = Math.max(most.seen, ++now);
            for (let turn = 0; turn < 5; turn++) await setImmediate();
            now--;
            await lease.release();
          };
          await Promise.all(Array.from({ length: count }, (_, n) => work(n)));
          expect(most.seen).toBeLessThanOrEqual(atMost);
          expect(await folderLeases(folder).ids()).toEqual([]);
        },
      ),
      { numRuns: 10, seed: SEED },
    );
  });

  test("one that cannot be acquired is withdrawn, and the reason is thrown", async () => {
    const folder = temporaryFolder();
    const first = await acquire(folder, "a");
    const leases = new Leases(folderLeases(folder), KIND, immediate);
    const refused = acquireLease(
      leases,
      { ...RUNNING, name: "b" },
      {
        fits: (others) => others.length === 0,
        rankOf: ({ name }) => name,
        expectFree: (acquired) => {
          if (acquired.length > 0) throw new UsageError(`${acquired[0]?.content.name} has it`);
        },
      },
      { clock: immediate },
    );
    await expect(refused).rejects.toThrow("a has it");
    expect(await folderLeases(folder).ids()).toEqual([first.id]);
    await first.release();
  });
});

describe("an error of the work and one of the release", () => {
  test("a lease that is waited for", async () => {
    const release = new Error("cannot be removed");
    const store = { ...folderLeases(temporaryFolder()), remove: () => Promise.reject(release) };
    const leases = new Leases(store, KIND, immediate);
    const ended = new Error("the process ends");
    const stop = new AbortController();
    const rule = {
      // The first time the record is created; then the process gets the signal to end.
      fits: () => !(stop.signal.aborted || stop.abort(ended)),
      rankOf: () => "",
      expectFree: () => {},
    };
    const acquired = acquireLease(leases, { ...RUNNING, name: "a" }, rule, {
      clock: immediate,
      signal: stop.signal,
    });
    await expect(acquired).rejects.toBe(ended);
    expect(laterErrors(ended)).toEqual([release]);
  });
});
