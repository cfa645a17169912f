import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LakeConnection, openLake, type ReadOptions } from "../../../src/api/lake/open-lake.js";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { addFile } from "../../lake/bar-files.js";
import {
  land,
  openSession,
  type TestBar,
  temporaryFolder,
  temporaryLake,
} from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";

const OPTIONS = { hasDatabase: false, threads: 1 };
const DAY_MS = 86_400_000;
const SYMBOLS = ["600519.SH", "000001.SZ", "00700.HK", "430047.BJ", "9988888.SH"];

/** Midnight in China of a day near the end of 2025. */
const midnight = (day: number): number => Date.parse("2025-12-20T16:00:00Z") + day * DAY_MS;
const dateOf = (day: number): string => new Date(midnight(day) + DAY_MS / 2).toISOString().slice(0, 10);

/** Connections to a lake without segments, and with them. */
async function bothWays(
  location: string,
  use: (plain: LakeConnection, fast: LakeConnection, segments: string) => Promise<void>,
): Promise<void> {
  const folder = temporaryFolder();
  await using plain = openLake(location, { ...OPTIONS, segments: false });
  await using fast = openLake(location, { ...OPTIONS, segments: { folder } });
  await use(plain, fast, folder);
}

/** What a read gives: the schema with its metadata, and the rows, or the error. */
async function resultOf(lake: LakeConnection, table: string, options: ReadOptions): Promise<unknown> {
  try {
    const found = await lake.read(table, options);
    return { schema: found.schema, rows: found.rows() };
  } catch (error) {
    return String(error);
  }
}

const anyDay = fc.nat(30);
const anyNumber = fc.constantFrom(0, 1, 10.5, 1e-9, 123_456.789);
const anyBar: fc.Arbitrary<TestBar> = fc
  .tuple(fc.constantFrom(...SYMBOLS.slice(0, 4)), anyDay, anyNumber, fc.nat(1000))
  .map(([symbol, day, price, volume]) => ({
    symbol,
    at: midnight(day),
    open: price,
    high: price,
    low: price,
    close: price,
    prevClose: price,
    volume,
  }));

/** Rows that no landing writes, as SQL: nulls, signed zeros, NaN, large volumes, keys twice, other lots. */
const anyOddFile = fc.record({
  kind: fc.constant("odd" as const),
  year: fc.constantFrom(2025, 2026),
  symbol: fc.constantFrom(...SYMBOLS),
  region: fc.constantFrom("CN", "CN", "CN", "HK"),
  days: fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 6 }),
  repeats: fc.constantFrom(1, 1, 1, 2),
  amount: fc.constantFrom("1000.5", "-0.0", "0.0", "'NaN'::DOUBLE", "NULL", "'Infinity'::DOUBLE"),
  openInterest: fc.constantFrom("NULL", "-0.0", "CASE WHEN n % 2 = 0 THEN 3.25 END"),
  volume: fc.constantFrom("n", "0", "9223372036854775807", "-1", "5000000000"),
  lot: fc.constantFrom("100", "1", "0", "CASE WHEN n % 2 = 0 THEN 10 ELSE 100 END"),
  isFinal: fc.constantFrom("true", "n % 3 = 0"),
});

const anyStep = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("land" as const),
      bars: fc.array(anyBar, { minLength: 1, maxLength: 25 }),
    }),
  },
  { weight: 3, arbitrary: anyOddFile },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("optimize" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("build" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("damage" as const),
      how: fc.constantFrom("delete", "truncate", "flip", "swap", "all"),
      which: fc.nat(),
      where: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

const anyRead = fc.record(
  {
    symbols: fc.subarray(SYMBOLS, { minLength: 1 }),
    from: anyDay.map(dateOf),
    to: anyDay.map(dateOf),
    columns: fc.subarray(
      [
        "symbol",
        "close",
        "vwap",
        "shares",
        "is_final",
        "trade_date",
        "timestamp",
        "open_interest",
        "year",
        "amount",
      ],
      { minLength: 1 },
    ),
    back: fc.nat(4),
  },
  { requiredKeys: ["symbols"] },
);

/** Damages the segments in a folder. */
function damage(folder: string, { how, which, where }: Extract<Step, { kind: "damage" }>): void {
  if (!existsSync(folder)) return;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".bars"))
    .map((name) => join(folder, name))
    .sort();
  const file = files[which % files.length];
  const other = files[(which + 1) % files.length];
  if (file === undefined || other === undefined) return;
  const bytes = readFileSync(file);
  const at = Math.floor(where * bytes.length);
  // A segment that is being written may come into the folder while it is deleted.
  if (how === "all") rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 });
  else if (how === "delete") rmSync(file);
  else if (how === "truncate") truncateSync(file, at);
  else if (how === "swap") copyFileSync(other, file);
  else {
    bytes[at] = (bytes[at] as number) ^ (1 << (which % 8));
    writeFileSync(file, bytes);
  }
}

async function perform(session: Session, lake: Lake, fast: LakeConnection, folder: string, step: Step) {
  if (step.kind === "land") await land(session, lake, BARS_1D, step.bars);
  else if (step.kind === "build") await fast.buildSegments();
  else if (step.kind === "damage") damage(folder, step);
  else if (step.kind === "optimize") await optimize(session, lake, BARS_1D, { runId: "test" });
  else {
    const { year, symbol, region, days, repeats, amount, openInterest, volume, lot, isFinal } = step;
    const rows = `SELECT ${"'" + symbol + "'"} AS symbol, TIMESTAMPTZ '${year}-03-01 16:00:00Z' + INTERVAL (n) DAY AS timestamp,
        DATE '${year}-03-02' + n::INTEGER AS trade_date, 1.5::DOUBLE AS open, 2.5::DOUBLE AS high, -0.0::DOUBLE AS low, 2.0::DOUBLE AS close,
        (${volume})::BIGINT AS volume, (${amount})::DOUBLE AS amount, (${openInterest})::DOUBLE AS open_interest,
        CASE WHEN n > 4 THEN -0.0::DOUBLE END AS prev_close, NULL::DOUBLE AS settlement_price, (${lot})::INTEGER AS lot, ${isFinal} AS is_final
      FROM (SELECT unnest([${days.join(", ")}])::BIGINT AS n), range(${repeats}) r`;
    await addFile(session, lake, BARS_1D, rows, { region, year: String(year) });
  }
}

test("with damaged, missing or swapped segments, every read is as without them", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyStep, anyRead, anyRead), { minLength: 4, maxLength: 8 }),
      async (steps) => {
        const lake = temporaryLake();
        await land(session, lake, BARS_1D, [{ at: midnight(0) }, { at: midnight(12) }]);
        await bothWays(lake.location, async (plain, fast, folder) => {
          for (const [step, ...reads] of steps) {
            await perform(session, lake, fast, folder, step);
            for (const { back, ...filter } of reads) {
              const newest = (await lake.snapshot(BARS_1D)).version;
              const state = back === undefined ? {} : { versions: { bars_1d: Math.max(0, newest - back) } };
              const options = { ...filter, ...state };
              expect(await resultOf(fast, "bars_1d", options)).toEqual(
                await resultOf(plain, "bars_1d", options),
              );
            }
          }
        });
      },
    ),
    // Without a search for a smaller example: each try takes a second.
    { numRuns: cases({ few: 1, more: 3, all: 120 }), endOnFailure: true },
  );
});

/** A lake of bars of several years, in three commits. */
async function threeYears(session: Session): Promise<Lake> {
  const lake = temporaryLake();
  for (const year of [2024, 2025, 2026]) {
    const bars = [0, 1, 2, 3].flatMap((day) =>
      SYMBOLS.slice(0, 3).map((symbol) => ({ symbol, at: Date.parse(`${year}-03-0${day + 1}T16:00:00Z`) })),
    );
    await land(session, lake, BARS_1D, bars);
  }
  return lake;
}

once("bars come from segments, of any version: the data files are not needed", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  await bothWays(lake.location, async (plain, fast) => {
    const reads: readonly ReadOptions[] = [
      { symbols: SYMBOLS },
      { symbols: ["600519.SH"], from: "2025-01-01", to: "2026-03-03" },
      { symbols: ["700.HK", "600519.SH"], columns: ["vwap", "symbol", "year"], versions: { bars_1d: 1 } },
      { symbols: SYMBOLS, from: "2030-01-01" },
      { symbols: ["430047.BJ"], versions: { bars_1d: 0 } },
    ];
    const expected = await Promise.all(reads.map((options) => resultOf(plain, "bars_1d", options)));
    await fast.buildSegments();
    for (const version of [0, 1])
      await fast.read("bars_1d", { symbols: SYMBOLS, versions: { bars_1d: version } });
    for (const file of (await lake.snapshot(BARS_1D)).files.keys()) {
      const path = join(lake.location, BARS_1D.name, file);
      writeFileSync(path, "damaged");
    }
    for (const [at, options] of reads.entries())
      expect(await resultOf(fast, "bars_1d", options)).toEqual(expected[at]);
    await expect(fast.read("bars_1d")).rejects.toThrow("bars_1d");
  });
});

once("minutes come from segments as the view gives them", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  for (const days of [[19, 20], [21]])
    await land(
      session,
      lake,
      BARS_1M,
      days.flatMap((day) =>
        [0, 1, 2].map((minute) => ({
          at: Date.parse(`2026-11-${day}T01:31:00Z`) + minute * 60_000,
          volume: minute,
        })),
      ),
    );
  await bothWays(lake.location, async (plain, fast) => {
    await fast.buildSegments(["bars_1m"]);
    for (const options of [
      {},
      { from: "2026-11-21" },
      { from: "2026-11-20" },
      { from: "2026-11-19", to: "2026-11-20" },
      { to: "2026-11-21", columns: ["month", "region", "close"] },
    ]) {
      const asked = { symbols: ["600519.SH"], ...options };
      expect(await resultOf(fast, "bars_1m", asked)).toEqual(await resultOf(plain, "bars_1m", asked));
    }
  });
});

once("bars that are in the folder of another region are read, as the view reads them", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  const strays = `SELECT '430047.BJ' AS symbol, TIMESTAMPTZ '2025-03-01 16:00:00Z' AS timestamp, DATE '2025-03-02' AS trade_date,
    2::DOUBLE AS open, 2::DOUBLE AS high, 2::DOUBLE AS low, 2::DOUBLE AS close, 1::BIGINT AS volume, 200::DOUBLE AS amount,
    NULL::DOUBLE AS open_interest, 2::DOUBLE AS prev_close, NULL::DOUBLE AS settlement_price, 100 AS lot, true AS is_final`;
  await addFile(session, lake, BARS_1D, strays, { region: "HK", year: "2025" });
  await bothWays(lake.location, async (plain, fast) => {
    await fast.buildSegments();
    const options = { symbols: ["430047.BJ"] };
    expect((await plain.read("bars_1d", options)).numRows).toBe(1);
    expect(await resultOf(fast, "bars_1d", options)).toEqual(await resultOf(plain, "bars_1d", options));
  });
});

once("a read builds what it lacks in the background, and a commit needs only its own files", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  await bothWays(lake.location, async (_, fast, folder) => {
    const segments = (): number =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".bars"))
        .length;
    await fast.read("bars_1d", { symbols: ["600519.SH"], from: "2026-01-01" });
    // It waits for what was ordered before.
    await fast.buildSegments([]);
    expect(segments()).toBe(0);
    await fast.buildSegments(["bars_1m", "bars_1d"]);
    const all = segments();
    await land(session, lake, BARS_1D, [{ at: "2026-03-10T16:00:00Z", close: 10.75 }]);
    const read = await fast.read("bars_1d", { symbols: ["600519.SH"], columns: ["close"] });
    expect(read.numRows).toBe(13);
    expect(segments()).toBe(all + 1);
  });
});

once("closing stops what is built, and leaves nothing unfinished", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  const folder = temporaryFolder();
  const open = openLake(lake.location, { ...OPTIONS, segments: { folder } });
  await open.read("bars_1d", { symbols: SYMBOLS });
  await open.close();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  expect(names.filter((name) => name.includes("partial"))).toEqual([]);
  await expect(open.read("bars_1d", { symbols: SYMBOLS })).rejects.toThrow("it was closed");
  await expect(open.buildSegments()).rejects.toThrow("it was closed");
});

once("segments do not exceed their bytes, and nothing is built where they are off", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  const folder = temporaryFolder();
  await using small = openLake(lake.location, { ...OPTIONS, segments: { folder, maxBytes: 1000 } });
  const { files, built } = await small.buildSegments();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  expect([files, built]).toEqual([6, names.filter((name) => name.endsWith(".bars")).length]);
  expect(built).toBeLessThan(3);
  const root = temporaryFolder();
  const environment = { XDG_CACHE_HOME: root, BARLAKE_SEGMENTS: "off" };
  await using off = openLake(lake.location, { ...OPTIONS, environment });
  expect(await off.buildSegments()).toEqual({ files: 0, built: 0 });
  expect(readdirSync(root)).toEqual([]);
  await using byDefault = openLake(lake.location, { ...OPTIONS, environment: { XDG_CACHE_HOME: root } });
  expect(await byDefault.buildSegments()).toEqual({ files: 6, built: 6 });
  expect(readdirSync(join(root, "barlake"))).toEqual(["segments"]);
});

once("a view of the user with the name of a table is read as the user wrote it", async () => {
  const session = await openSession();
  const lake = await threeYears(session);
  const views = temporaryFolder();
  writeFileSync(
    join(views, "bars.sql"),
    "CREATE OR REPLACE VIEW bars_1d AS SELECT symbol, 1 AS own FROM raw.bars_1d",
  );
  const userViews = { folder: views, onFault: (error: Error) => expect.fail(error.message) };
  await using open = openLake(lake.location, {
    ...OPTIONS,
    userViews,
    segments: { folder: temporaryFolder() },
  });
  await open.buildSegments();
  const found = await open.read("bars_1d", { symbols: ["600519.SH"] });
  expect(found.schema.names).toEqual(["symbol", "own"]);
});
