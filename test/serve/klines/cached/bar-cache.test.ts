import fc from "fast-check";
import { expect, test } from "vitest";
import { BarCache } from "../../../../src/serve/klines/bar-cache.js";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../../../src/wire/kline-columns.js";

function runOf(symbol: string, timestamps: readonly number[]): BarRun {
  const values = Float64Array.from(timestamps);
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [name, { values, validity: undefined }]),
  ) as KlineValues["doubles"];
  const integers = BigInt64Array.from(timestamps, BigInt);
  return {
    symbol,
    values: { timestamp: integers, volume: integers, doubles },
    start: 0,
    end: timestamps.length,
    found: timestamps.length,
  };
}

test("a cached result is what a search of all bars would find; otherwise there is none", () => {
  const ascending = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 30 });
  const range = fc.tuple(fc.integer({ min: -5, max: 70 }), fc.integer({ min: -5, max: 70 }));
  fc.assert(
    fc.property(
      ascending,
      fc.nat({ max: 60 }),
      range,
      fc.integer({ min: 1, max: 40 }),
      (any, since, [a, b], count) => {
        const all = any.sort((x, y) => x - y);
        const cache = new BarCache(1_000_000);
        cache.add("key", "1", [
          {
            run: runOf(
              "A.US",
              all.filter((t) => t >= since),
            ),
            since,
          },
        ]);
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        const run = cache.find("key", "1", "A.US", { start, end }, count);
        const expected = all.filter((t) => t >= start && t < end).slice(-count);
        if (run === undefined) {
          expect(start).toBeLessThan(since);
          return;
        }
        expect(Array.from(run.values.timestamp.subarray(run.start, run.end), Number)).toEqual(expected);
        expect(Array.from(run.values.doubles.close.values.subarray(run.start, run.end))).toEqual(expected);
      },
    ),
  );
});

test("other versions are other bars, and the oldest are evicted when the cache is full", () => {
  const cache = new BarCache(20_000);
  const all = { start: 0, end: 1000 };
  const add = (symbol: string): void => cache.add("key", "1", [{ run: runOf(symbol, [1, 2, 3]), since: 0 }]);
  const keep = (symbol: string): void => {
    if (cache.get("key", symbol) === undefined) add(symbol);
    if (cache.get("key", symbol) === undefined) add(symbol);
  };
  keep("A.US");
  expect(cache.find("key", "2", "A.US", all, 3)).toBeUndefined();
  for (let n = 0; n < 100; n++) {
    expect(cache.find("key", "1", "A.US", all, 3)?.end).toBe(3);
    keep(`B${n}.US`);
    expect(cache.bytes).toBeLessThanOrEqual(20_000);
  }
  expect(cache.find("key", "1", "B0.US", all, 3)).toBeUndefined();
  expect(cache.find("key", "1", "B99.US", all, 3)?.end).toBe(3);
});

test("a full cache takes in what is requested for the second time; what each is requested once evicts nothing", () => {
  const cache = new BarCache(1_000_000);
  const labels = Array.from({ length: 100 }, (_, n) => n);
  const request = (symbol: string): boolean => {
    const isCached = cache.find("key", "1", symbol, { start: 0, end: 100 }, 100) !== undefined;
    if (!isCached) cache.add("key", "1", [{ run: runOf(symbol, labels), since: 0 }]);
    return isCached;
  };
  const asked = Array.from({ length: 50 }, (_, n) => `A${n}.US`);
  for (const symbol of asked) request(symbol);
  const once = Array.from({ length: 2000 }, (_, n) => `B${n}.US`);
  for (const symbol of once) request(symbol);
  expect(asked.filter(request)).toEqual(asked);
  expect([request("B1999.US"), request("B1999.US")]).toEqual([false, true]);
  expect([request("C.US"), request("C.US"), request("C.US")]).toEqual([false, false, true]);
});

test("a full cache takes in a symbol's bars of a later version at once", () => {
  const cache = new BarCache(1_000_000);
  const labels = Array.from({ length: 100 }, (_, n) => n);
  const add = (version: string, symbol: string): void =>
    cache.add("key", version, [{ run: runOf(symbol, labels), since: 0 }]);
  for (let n = 0; n < 200; n++) add("1", `A${n}.US`);
  const cached = Array.from({ length: 200 }, (_, n) => `A${n}.US`).filter((symbol) =>
    cache.get("key", symbol),
  );
  expect(cached.length).toBeLessThan(200);
  for (const symbol of cached.slice(0, 50)) {
    add("2", symbol);
    expect(cache.get("key", symbol)?.version).toBe("2");
  }
});

test("a full cache takes in what a client requests in cycles of many symbols", () => {
  const cache = new BarCache(100_000_000);
  const range = { start: 0, end: 1000 };
  const labels = Array.from({ length: 900 }, (_, n) => n);
  const fill = Array.from({ length: 1500 }, (_, n) => ({ run: runOf(`A${n}.US`, labels), since: 0 }));
  for (const one of fill) cache.add("key", "1", [one]);
  const cycle = (): number => {
    let found = 0;
    for (let n = 0; n < 25_000; n++) {
      if (cache.find("key", "1", `B${n}.US`, range, 1) !== undefined) found += 1;
      else cache.add("key", "1", [{ run: runOf(`B${n}.US`, [1]), since: 0 }]);
    }
    return found;
  };
  expect(Math.max(cycle(), cycle())).toBeLessThan(100);
  expect(cycle()).toBeGreaterThan(20_000);
});

test("an extended run that a request needs is evicted after those that it does not need", () => {
  const numbered = (letter: string): string[] => [0, 1, 2, 3].map((n) => `${letter}${n}.US`);
  const fill = (cache: BarCache): void => {
    for (const symbol of [...numbered("A"), ...numbered("B")])
      cache.add("key", "1", [{ run: runOf(symbol, [1, 2, 3]), since: 0 }]);
  };
  const unlimited = new BarCache(1e6);
  fill(unlimited);
  const cache = new BarCache(unlimited.bytes);
  fill(cache);
  for (const symbol of numbered("A"))
    cache.renew(
      "key",
      "2",
      { run: runOf(symbol, [1, 2, 3, 4, 5, 6, 7]), since: 0 },
      { needed: 3, neededInVersion: 3 },
    );
  expect(cache.bytes).toBeLessThanOrEqual(unlimited.bytes);
  const kept = numbered("A").filter((symbol) => cache.get("key", symbol)?.version === "2");
  expect([kept, cache.get("key", "B0.US"), cache.get("key", "B3.US")?.version]).toEqual([
    numbered("A"),
    undefined,
    "1",
  ]);
});

test("bars that share columns are evicted together, and their memory counts until the last of them is replaced", () => {
  const together = ["A0.US", "A1.US", "A2.US", "A3.US"];
  const shared = (cache: BarCache): void =>
    cache.add(
      "key",
      "1",
      together.map((symbol) => ({ run: runOf(symbol, [1, 2, 3]), since: 0 })),
    );
  const alone = (cache: BarCache, symbol: string): void =>
    cache.add("key", "2", [{ run: runOf(symbol, [1, 2, 3]), since: 0 }]);

  const unlimited = new BarCache(1e6);
  shared(unlimited);
  const withShared = unlimited.bytes;
  for (const symbol of together.slice(1)) alone(unlimited, symbol);
  const withBoth = unlimited.bytes;
  alone(unlimited, "A0.US");
  const own = new BarCache(1e6);
  for (const symbol of together) alone(own, symbol);
  expect(withBoth).toBeGreaterThan(withShared);
  expect(unlimited.bytes).toBe(own.bytes);

  const small = new BarCache(3 * withShared);
  shared(small);
  const left = Array.from({ length: 100 }, (_, n) => {
    alone(small, `B${n}.US`);
    expect(small.bytes).toBeLessThanOrEqual(3 * withShared);
    return together.filter((symbol) => small.get("key", symbol) !== undefined).length;
  });
  expect(new Set(left)).toEqual(new Set([4, 0]));
});
