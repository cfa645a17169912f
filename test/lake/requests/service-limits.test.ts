import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  limitsPath,
  openLimitsStore,
  readServiceLimits,
  saveServiceLimits,
} from "../../../src/lake/requests/service-limits.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { T0, temporaryLake } from "../temporary-lake.js";

const DAY = 86_400_000;
const HOST = "api.example.com:8443";
const KEY = { host: HOST, keyId: "key1" };
const NOTHING = { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: {}, refusedTables: {} };

test("what was learned is a file that a person can read, and adds up over the runs", async () => {
  const { location: folder, storage } = temporaryLake();
  expect(await readServiceLimits(storage, KEY, T0)).toEqual({ limits: NOTHING, note: undefined });
  await saveServiceLimits(storage, KEY, { requestsPerMinute: { klines: 30 }, rowCap: { "1m": 5000 } }, T0);
  await saveServiceLimits(storage, KEY, { requestsPerMinute: { quotes: 10 } }, T0 + 1);
  await saveServiceLimits(storage, KEY, { requestsPerMinute: { klines: 60 } }, T0 + 2000);
  expect(JSON.parse(readFileSync(join(folder, "limits/api.example.com%3A8443.json"), "utf8"))).toEqual({
    requestsPerMinute: {
      klines: { value: 60, learnedAt: "2026-11-21T00:00:02.000Z" },
      quotes: { value: 10, learnedAt: "2026-11-21T00:00:00.001Z" },
    },
    symbolsPerRequest: {},
    rowCap: { "key1/klines/1m": { value: 5000, learnedAt: "2026-11-21T00:00:00.000Z" } },
    refusedTables: {},
  });
  const { limits } = await readServiceLimits(storage, KEY, T0 + 3000);
  expect(limits).toEqual({
    ...NOTHING,
    requestsPerMinute: { klines: 60, quotes: 10 },
    rowCap: { "1m": 5000 },
  });
  expect((await readServiceLimits(storage, { ...KEY, host: "another.example.com" }, T0)).limits).toEqual(
    NOTHING,
  );
});

test("rates and refusals are forgotten after a week, caps after 90 days", async () => {
  const { storage } = temporaryLake();
  const all = {
    requestsPerMinute: { klines: 30 },
    symbolsPerRequest: { klines: 50 },
    rowCap: { "1d": 10_000 },
    refusedTables: { metrics: 403 },
  };
  await saveServiceLimits(storage, KEY, all, T0);
  const at = async (days: number) => (await readServiceLimits(storage, KEY, T0 + days * DAY)).limits;
  expect(await at(6.9)).toEqual(all);
  expect((await readServiceLimits(storage, { ...KEY, keyId: "key2" }, T0)).limits.refusedTables).toEqual({});
  expect(await at(7)).toEqual({ ...all, requestsPerMinute: {}, refusedTables: {} });
  expect(await at(89.9)).toEqual({ ...all, requestsPerMinute: {}, refusedTables: {} });
  expect(await at(90)).toEqual(NOTHING);
  await saveServiceLimits(storage, KEY, { symbolsPerRequest: { klines: 100 } }, T0 + 8 * DAY);
  expect(JSON.parse((await storage.readText(limitsPath(HOST))) ?? "")).toMatchObject({
    requestsPerMinute: {},
  });
});

test.each([
  "",
  "nonsense",
  "[]",
  "null",
  '{"rowCap":',
  '{"requestsPerMinute":{"klines":30}}',
  '{"requestsPerMinute":{"klines":{"value":-1,"learnedAt":"2026-11-21T00:00:00Z"}}}',
  '{"rowCap":{"1m":{"value":5000,"learnedAt":"yesterday"}}}',
])("a damaged file is reported and replaced: %j", async (text) => {
  const { location: folder, storage } = temporaryLake();
  mkdirSync(join(folder, "limits"), { recursive: true });
  writeFileSync(join(folder, limitsPath(HOST)), text);
  const { limits, note } = await readServiceLimits(storage, KEY, T0);
  expect(limits).toEqual(NOTHING);
  expect(note).toMatch(/^limits\/api\.example\.com%3A8443\.json is damaged/);
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 5000 } }, T0);
  expect(await readServiceLimits(storage, KEY, T0)).toEqual({
    limits: { ...NOTHING, rowCap: { "1m": 5000 } },
    note: undefined,
  });
});

test("any host is one file of the folder, and no two share one", async () => {
  const hosts = ["a", "[::1]:80", "../../etc/passwd", "a/b", "a\\b", "a%2Fb", "*", "A.b", "主机"];
  expect(new Set(hosts.map(limitsPath)).size).toBe(hosts.length);
  fc.assert(
    fc.property(fc.webAuthority(), (host) => {
      expect(limitsPath(host)).toMatch(/^limits\/[\w.!~'()%-]+\.json$/);
    }),
  );
  const { location: folder, storage } = temporaryLake();
  for (const host of hosts)
    await saveServiceLimits(storage, { host, keyId: "key1" }, { rowCap: { "1d": 1 } }, T0);
  expect(readdirSync(join(folder, "limits"))).toHaveLength(hosts.length);
});

test("writers at the same time leave a whole file, with what each of them has learned", async () => {
  const { storage } = temporaryLake();
  const groups = ["klines", "intraday", "quotes", "reference", "financials"] as const;
  await Promise.all(
    groups.map((group) => saveServiceLimits(storage, KEY, { requestsPerMinute: { [group]: 30 } }, T0)),
  );
  const { limits, note } = await readServiceLimits(storage, KEY, T0);
  expect(note).toBeUndefined();
  expect(limits.requestsPerMinute).toEqual(Object.fromEntries(groups.map((group) => [group, 30])));
});

test("a run stores what it learns, one limit after the other, and reports what it could not store", async () => {
  const { location: folder, storage } = temporaryLake();
  const clock = virtualClock(T0);
  const first = await openLimitsStore(storage, KEY, clock);
  expect(first).toMatchObject({ limits: NOTHING, note: undefined });
  for (const klines of [30, 31, 33, 30]) first.learn({ requestsPerMinute: { klines } });
  first.learn({ rowCap: { "1m": 5000 } });
  await first.saved();
  const second = await openLimitsStore(storage, KEY, clock);
  expect(second.limits).toEqual({ ...NOTHING, requestsPerMinute: { klines: 30 }, rowCap: { "1m": 5000 } });
  rmSync(join(folder, "limits"), { recursive: true });
  writeFileSync(join(folder, "limits"), "");
  second.learn({ rowCap: { "1d": 9000 } });
  await expect(second.saved()).rejects.toThrow(/limits/);
});

test("a save that fails does not stop the later ones", async () => {
  const { location: folder, storage } = temporaryLake();
  const keeper = await openLimitsStore(storage, KEY, virtualClock(T0));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "limits"), "");
  keeper.learn({ rowCap: { "1d": 9000 } });
  await expect(keeper.saved()).rejects.toThrow(/limits/);
  rmSync(join(folder, "limits"));
  keeper.learn({ rowCap: { "1m": 5000 } });
  await expect(keeper.saved()).rejects.toThrow(/limits/);
  expect((await readServiceLimits(storage, KEY, T0)).limits.rowCap).toEqual({ "1m": 5000 });
});

test("a cap is a fact about a key: another key of the same host knows nothing of it", async () => {
  const { storage } = temporaryLake();
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 5000 } }, T0);
  const other = { ...KEY, keyId: "key2" };
  expect((await readServiceLimits(storage, other, T0)).limits.rowCap).toEqual({});
  await saveServiceLimits(storage, other, { rowCap: { "1m": 1000, "1d": 400 } }, T0);
  expect((await readServiceLimits(storage, KEY, T0)).limits.rowCap).toEqual({ "1m": 5000 });
  expect((await readServiceLimits(storage, other, T0)).limits.rowCap).toEqual({ "1m": 1000, "1d": 400 });
});

test("a cap is only lowered while it lives, and ends 90 days after it was lowered last", async () => {
  const { storage } = temporaryLake();
  const capAt = async (days: number) =>
    (await readServiceLimits(storage, KEY, T0 + days * DAY)).limits.rowCap["1m"];
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 5000 } }, T0);
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 9000 } }, T0 + 10 * DAY);
  expect(await capAt(10)).toBe(5000);
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 1000 } }, T0 + 20 * DAY);
  expect([await capAt(20), await capAt(109), await capAt(110)]).toEqual([1000, 1000, undefined]);
  await saveServiceLimits(storage, KEY, { rowCap: { "1m": 5000 } }, T0 + 110 * DAY);
  expect(await capAt(110)).toBe(5000);
});

test("a name by a plain hash of a key leaves the file with the next thing that is learned", async () => {
  const { location: folder, storage } = temporaryLake();
  await saveServiceLimits(
    storage,
    { ...KEY, keyId: "0123456789abcdef".repeat(2) },
    { rowCap: { "1m": 5000 } },
    T0,
  );
  await saveServiceLimits(storage, KEY, { requestsPerMinute: { klines: 30 } }, T0);
  expect(readFileSync(join(folder, limitsPath(HOST)), "utf8")).not.toContain("0123456789abcdef");
});
