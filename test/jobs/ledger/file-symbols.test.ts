import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import { landedBars } from "../../../src/jobs/ledger/landed-bars.js";
import { damageOf } from "../../../src/lake/files/verify-content.js";
import { Lake } from "../../../src/lake/lake.js";
import type { DataFile } from "../../../src/lake/log/snapshot.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { fillLake } from "../../../src/sim/fill-lake.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { fixtureLake } from "../../lake/fixture-lake.js";
import { openSession, temporaryFolder } from "../../lake/temporary-lake.js";
import { landRows } from "../../serve/served-lake.js";

/** A lake of several files, each with several symbols, and its cache. */
async function setUp() {
  const place = temporaryFolder();
  const environment = { BARLAKE_SEGMENTS: join(place, "segments") };
  const open = (): Lake => new Lake(join(place, "lake"), { hasDatabase: false, environment });
  const fixture = { filledBy: import.meta.url, name: "sim", isDamaged: true };
  await fixtureLake(join(place, "lake"), fixture, (empty) => {
    const market = simulateMarket({ seed: 3, symbols: 20, days: 40, end: "2026-01-20" as TradingDate });
    return fillLake(empty, market, { minuteDays: 1, runId: "sim", now: Date.parse("2026-01-21T00:00:00Z") });
  });
  const lake = open();
  const found = async () => {
    const { session } = await openReader(open(), { threads: 1, verify: false });
    using reader = session;
    const fresh = open();
    return await landedBars(reader, fresh, await fresh.snapshot(BARS_1D), Date.parse("2026-11-21T00:00:00Z"));
  };
  const queried = async () => {
    const { session } = await openReader(open(), { threads: 1, verify: false });
    using reader = session;
    return await reader.json(
      `SELECT 'bars_1d' AS dataset, region, count(DISTINCT symbol)::DOUBLE AS symbols, count(*)::DOUBLE AS bars,
         min(trade_date)::VARCHAR AS first, max(trade_date)::VARCHAR AS last FROM bars_1d GROUP BY region ORDER BY region`,
    );
  };
  const cache = (): string => join(lake.segmentPlace()?.folder as string, "symbols", "bars_1d.txt");
  const pathsOf = async (): Promise<string[]> =>
    [...(await open().snapshot(BARS_1D)).files.values()].map(({ path }) =>
      join(lake.location, "bars_1d", path),
    );
  return { lake, open, found, queried, cache, pathsOf };
}

/** Runs some work while files are away. */
async function without<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
  for (const path of paths) renameSync(path, `${path}.away`);
  try {
    return await work();
  } finally {
    for (const path of paths) renameSync(`${path}.away`, path);
  }
}

test("the symbols of a file are read once, and then only those of new files", async () => {
  const { lake, found, queried, pathsOf } = await setUp();
  expect(await found()).toEqual(await queried());
  const known = await pathsOf();
  expect(known.length).toBeGreaterThan(2);
  const expected = await queried();
  expect(expected.length).toBeGreaterThan(1);
  const bar = { open: 1, high: 1, low: 1, close: 1, volume: 1, amount: 1 };
  const timestamp = Date.parse("2026-01-22T16:00:00Z");
  await landRows(lake, BARS_1D, [
    { ...bar, symbol: "600000.SH", timestamp },
    { ...bar, symbol: "688999.SH", timestamp },
  ]);
  const after = await queried();
  const old = (await pathsOf()).filter((path) => known.includes(path));
  expect(old.length).toBeGreaterThan(1);
  expect(await without(old, found)).toEqual(after);
  expect(after).not.toEqual(expected);
  expect(await without(await pathsOf(), found)).toEqual(after);
  const session = await openSession();
  await optimize(session, lake, BARS_1D, { runId: "test" });
  expect(await found()).toEqual(await queried());
});

test("what the cache says stays right where it is deleted, cut short, empty, of another form or changed in a letter", async () => {
  const { found, queried, cache } = await setUp();
  const expected = await queried();
  expect(await found()).toEqual(expected);
  const whole = readFileSync(cache(), "utf8");
  const next = (digit: string): string => String((Number(digit) + 1) % 10);
  for (const damaged of [
    undefined,
    whole.slice(0, -20),
    "",
    '{"files":{}}\n',
    whole.replace(/\d(?=\.SH)/, next),
  ]) {
    if (damaged === undefined) rmSync(cache());
    else writeFileSync(cache(), damaged);
    expect(await found()).toEqual(expected);
    expect(readFileSync(cache(), "utf8").split("\n").sort()).toEqual(whole.split("\n").sort());
    expect(readdirSync(join(cache(), "..")).filter((name) => name.endsWith(".partial"))).toEqual([]);
  }
});

test("a file that is damaged leaves nothing in the cache", async () => {
  const { lake, found, queried, cache, pathsOf } = await setUp();
  const expected = await queried();
  await found();
  const [path] = (await pathsOf()) as [string];
  const whole = readFileSync(path);
  const snapshot = await lake.snapshot(BARS_1D);
  const file = [...snapshot.files.values()].find((one) => path.endsWith(one.path)) as DataFile;
  writeFileSync(path, Buffer.from(whole).fill(0, 100, 110));
  expect(await damageOf(lake, snapshot, file)).toMatchObject({ kind: "damaged" });
  expect(existsSync(cache())).toBe(false);
  writeFileSync(path, whole);
  expect(await found()).toEqual(expected);
});
