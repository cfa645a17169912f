import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { openKeyClaims } from "../../../src/client/key/key-claims.js";
import { keyNameOf } from "../../../src/client/key/key-id.js";
import { claimKey, type KeyLock } from "../../../src/client/key/key-lock.js";
import { UsageError } from "../../../src/core/errors.js";
import { laterErrors } from "../../../src/core/release-after.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { makeUnremovable } from "../../lease/unremovable-records.js";
import { SEED } from "../../setup.js";
import { cases } from "../../sweep.js";

const WORKER = fileURLToPath(new URL("key-worker.mjs", import.meta.url));
const KEY = "a-very-secret-key";
const HOST = "api.example.com:8443";
const NOW = Date.parse("2026-11-20T10:00:00Z");

async function startWorker(): Promise<ChildProcess> {
  const child = fork(WORKER, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const began = await Promise.race([once(child, "message"), once(child, "exit").then(() => undefined)]);
  if (began === undefined) throw new Error(`${WORKER} ended before it was ready`);
  return child;
}

/** @returns whether the worker did it. @throws where it failed otherwise than by a UsageError. */
async function order(child: ChildProcess, kind: "hold" | "release", options: object = {}): Promise<boolean> {
  child.send({ kind, ...options });
  const [response] = (await once(child, "message")) as [{ failed?: string; hint?: string }];
  if (response.failed === undefined) return true;
  expect(response.failed).toMatch(/^KeyInUseError: key for api\.example\.com:8443 is in use by "run \d/);
  expect(response.hint).toContain("--share");
  return false;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** One round: how many ask at once, for which share each, and whether those who get it are killed or let go. */
const ROUNDS = [2, 3, 4].flatMap((askers) =>
  [1, 0.5, 0.6, 0.25].flatMap((share) => [true, false].map((isKilled) => ({ askers, share, isKilled }))),
);

test("processes that ask at once never get more than the whole, and what the killed had is free again", async () => {
  const folder = temporaryFolder();
  const workers = await Promise.all(Array.from({ length: 4 }, startWorker));
  const [rounds = []] = fc.sample(fc.shuffledSubarray(ROUNDS, { minLength: ROUNDS.length }), {
    seed: SEED,
    numRuns: 1,
  });
  expect(rounds).toHaveLength(24);
  for (const { askers, share, isKilled } of rounds.slice(0, cases({ few: 8, all: 24 }))) {
    const asking = workers.slice(0, askers);
    const got = await Promise.all(
      asking.map((worker, i) =>
        order(worker, "hold", { folder, host: HOST, apiKey: KEY, share, purpose: `run ${i}`, now: NOW }),
      ),
    );
    const holders = asking.filter((_, i) => got[i]);
    const outcome = `${askers} asked for ${share}: ${holders.length}`;
    expect(outcome).toBe(`${askers} asked for ${share}: ${Math.min(askers, Math.floor(1 / share))}`);
    for (const holder of holders) {
      if (!isKilled) await order(holder, "release");
      else {
        await kill(holder);
        workers[workers.indexOf(holder)] = await startWorker();
      }
    }
  }
});

test("of four that ask at once for a half, two get it, however long each read takes", async () => {
  const folder = temporaryFolder();
  let time = NOW;
  // A look takes 600 ms or more, however many there are; after 30 s without a heartbeat a claim would be dead.
  const clock = { now: () => (time = Math.min(time + 600, NOW + 25_000)), sleep: () => setImmediate() };
  const asked = await Promise.allSettled([1, 2, 3, 4].map(() => hold(folder, { share: 0.5, clock })));
  const locks = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(locks).toHaveLength(2);
  for (const lock of locks) await lock.release();
  expect(filesOf(folder)).toEqual([]);
});

test.each(["withdraws", "gets the key"])(
  "one that asks waits for another that asked before it, until that one %s",
  async (what) => {
    const folder = temporaryFolder();
    await (await hold(folder)).release();
    const { leases } = await openKeyClaims(join(folder, readdirSync(folder)[0] ?? ""), virtualClock(NOW));
    const owner = { pid: process.pid, machine: hostname(), purpose: "run slow", share: 0.6 };
    const since = new Date(NOW - 10_000).toISOString();
    const slow = await leases.add({ ...owner, since }, { state: "waiting" });
    let looks = 0;
    const clock = {
      now: () => NOW,
      sleep: async () => {
        if (++looks === 3) await (what === "withdraws" ? slow.release() : slow.acquire());
      },
    };
    const asked = hold(folder, { share: 0.5, clock });
    if (what === "withdraws") await (await asked).release();
    else await expect(asked).rejects.toThrow(/is in use by "run slow"/);
    expect(looks).toBe(3);
    await leases.close();
  },
);

test("one that waits says once for whom, gets the key when that ends, and gives up when its signal aborts", async () => {
  const folder = temporaryFolder();
  const first = await hold(folder);
  const holders: string[] = [];
  const onWait = (inUse: { readonly holders: string }): void => void holders.push(inUse.holders);
  let looks = 0;
  const clock = {
    now: () => NOW + looks * 31_000,
    // More than the half minute after which one that asks counts as having the key.
    sleep: async () => {
      if (++looks === 3) await first.release();
    },
  };
  const second = await hold(folder, { purpose: "schedule daily", clock, maxWaitMs: 10 * 31_000, onWait });
  expect([looks, holders]).toEqual([
    3,
    [expect.stringMatching(/^"run daily" \(process \d+ on .+, share 1\) since /)],
  ]);
  const ended = new AbortController();
  const waiting = hold(folder, {
    maxWaitMs: Number.POSITIVE_INFINITY,
    onWait: () => ended.abort(new Error("ended")),
    signal: ended.signal,
  });
  await expect(waiting).rejects.toThrow("ended");
  await second.release();
});

test("one that waits for longer than it may fails, and names the others", async () => {
  const folder = temporaryFolder();
  const first = await hold(folder);
  let looks = 0;
  const clock = { now: () => NOW + looks * 31_000, sleep: async () => void looks++ };
  await expect(hold(folder, { clock, maxWaitMs: 60_000 })).rejects.toThrow('is in use by "run daily"');
  expect(looks).toBe(2);
  await first.release();
});

function hold(folder: string, more: object = {}): Promise<KeyLock> {
  const options = { folder, host: HOST, apiKey: KEY, purpose: "run daily", clock: virtualClock(NOW) };
  return claimKey({ ...options, ...more });
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

test("the error of a second process names the owner of the key, since when, and the free share", async () => {
  const folder = temporaryFolder();
  const first = await hold(folder, { share: 0.7 });
  const error = await hold(folder).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as UsageError).message).toMatch(
    new RegExp(
      `^key for ${HOST} is in use by "run daily" \\(process ${process.pid} on .+, share 0\\.7\\) since 2`,
    ),
  );
  expect((error as UsageError).hint).toContain("--share 0.3");
  const second = await hold(folder, { share: 0.3 });
  await expect(hold(folder, { share: 0.01 })).rejects.toThrow(/is in use by .+ and by /);
  await second.release();
  await first.release();
  await (await hold(folder)).release();
});

test("another key, and another host, are separate claims; neither file nor name reveals a key", async () => {
  const folder = temporaryFolder();
  const locks = [await hold(folder), await hold(folder, { apiKey: "b" }), await hold(folder, { host: "h" })];
  const files = filesOf(folder);
  expect(files).toHaveLength(3);
  for (const file of files) {
    expect(file + readFileSync(file, "utf8")).not.toContain(KEY);
    expect(statSync(file).mode & 0o077).toBe(0);
  }
  for (const lock of locks) await lock.release();
  expect(filesOf(folder)).toEqual([]);
});

test("a claim without a sign of life is taken over; the earlier owner is named", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = temporaryFolder();
  const first = await hold(folder);
  const [file = ""] = filesOf(folder);
  const renewed = (time: number): void => utimesSync(file, time, time);
  const ahead = statSync(file).mtimeMs / 1000 + 3600;
  renewed(ahead);
  await expect(hold(folder)).rejects.toThrow(/is in use/);
  await vi.advanceTimersByTimeAsync(5000);
  while (statSync(file).mtimeMs / 1000 > ahead - 1) await setImmediate();
  expect(first.lost.aborted).toBe(false);
  renewed(1);
  const second = await hold(folder);
  const lost = once(first.lost, "abort");
  await vi.advanceTimersByTimeAsync(5000);
  await lost;
  expect(first.lost.reason).toBeInstanceOf(UsageError);
  expect(second.lost.aborted).toBe(false);
  await first.release();
  await expect(hold(folder)).rejects.toThrow(/is in use/);
  await second.release();
});

test("a claim whose heartbeat comes again after a suspend of the machine remains valid", async () => {
  // A heartbeat of the machine's time would come before the look at the old one, if the machine is slow.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = temporaryFolder();
  const first = await hold(folder);
  const [file = ""] = filesOf(folder);
  const { mtime } = statSync(file);
  utimesSync(file, 1, 1);
  const clock = virtualClock(NOW);
  const sleep = async (ms: number): Promise<void> => {
    await clock.sleep(ms);
    utimesSync(file, mtime, mtime);
  };
  await expect(hold(folder, { clock: { now: () => clock.now(), sleep } })).rejects.toThrow(/is in use/);
  expect(clock.slept).toEqual([10_000]);
  expect(filesOf(folder)).toEqual([file]);
  await first.release();
});

test("what was sent is known to the next process, however the last one ended", async () => {
  const folder = temporaryFolder();
  const now = NOW;
  const first = await hold(folder, { share: 0.5 });
  const second = await hold(folder, { share: 0.5 });
  first.report(() => ({ klines: [now - 300_000, now - 2000], quotes: [] }));
  second.report(() => ({ klines: [now - 3000], reference: [now - 1000] }));
  await first.release();
  const third = await hold(folder, { share: 0.5 });
  expect(third.sentBefore).toEqual({ klines: [now - 2000], quotes: [] });
  await second.release();
  await third.release();
  const last = await hold(folder);
  expect(last.sentBefore).toEqual({ klines: [now - 3000, now - 2000], quotes: [], reference: [now - 1000] });
  await last.release();
  await (await hold(folder, { clock: virtualClock(now + 200_000) })).release();
  expect(filesOf(folder)).toEqual([]);
});

test("a claim that cannot be read counts as the whole while it is fresh; a folder that cannot be created is an error", async () => {
  const folder = temporaryFolder();
  const lock = await hold(folder);
  const [file = ""] = filesOf(folder);
  writeFileSync(`${file}.damaged`, "{");
  renameSync(`${file}.damaged`, file);
  await expect(hold(folder, { share: 0.1 })).rejects.toThrow(/is in use by "unknown"/);
  await lock.release();
  const notFolder = join(folder, "file");
  writeFileSync(notFolder, "");
  await expect(hold(notFolder)).rejects.toThrow(/^folder .*file.* cannot be made/);
  for (const share of [0, -1, 1.01, Number.NaN])
    await expect(hold(folder, { share })).rejects.toThrow(/^share/);
});

/** A key whose claim cannot be removed once it was acquired; `holds` claims it. */
async function stuckKey() {
  const folder = temporaryFolder();
  const place = join(folder, await keyNameOf(HOST, KEY));
  mkdirSync(place);
  const clock = virtualClock(new Date(NOW).toISOString());
  const now = (): number => {
    makeUnremovable(place, ".claim.json");
    return clock.now();
  };
  const holds = (): Promise<KeyLock> =>
    claimKey({ folder, host: HOST, apiKey: KEY, purpose: "run daily", clock: { ...clock, now } });
  return { place, holds };
}

test("a key that cannot be used and not be released: the first error is thrown, and knows the second", async () => {
  const { place, holds } = await stuckKey();
  mkdirSync(join(place, "one.sent.json"));
  const error = await holds().catch((one: unknown) => one);
  expect(error).toMatchObject({ path: join(place, "one.sent.json") });
  expect(laterErrors(error)).toMatchObject([{ path: expect.stringMatching(/\.claim\.json$/) }]);
});

test("a key whose last sends cannot be noted, and that cannot be released: both errors are known", async () => {
  const { holds } = await stuckKey();
  const lock = await holds();
  const first = new Error("no sends are known");
  lock.report(() => {
    throw first;
  });
  await expect(lock.release()).rejects.toBe(first);
  expect(laterErrors(first)).toMatchObject([{ path: expect.stringMatching(/\.claim\.json$/) }]);
});
