import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LakeConnection, openLake, type ReadOptions } from "../../../src/api/lake/open-lake.js";
import { systemClock } from "../../../src/client/system-clock.js";
import type { Session } from "../../../src/db/session/session.js";
import { runImport } from "../../../src/jobs/import/run-import.js";
import type { Lake } from "../../../src/lake/lake.js";
import { ADJUSTMENTS } from "../../../src/market/period.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../../src/schema/bars.js";
import { addFile } from "../../lake/bar-files.js";
import { openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { fillSimulated } from "../../sql/simulated-lake.js";
import { cases, pickFrom } from "../../sweep.js";

const OPTIONS = { hasDatabase: false, threads: 1 };
const SYMBOLS = ["600519.SH", "000001.SZ", "00700.HK"];

/** What a read gives: the schema, and the rows. */
async function resultOf(lake: LakeConnection, table: string, options: ReadOptions): Promise<unknown> {
  const found = await lake.read(table, options);
  return { schema: found.schema, rows: found.rows() };
}

/** Makes the data files of a lake's bars unreadable: what is read then comes from segments. */
async function damageBars(lake: Lake): Promise<void> {
  for (const table of [BARS_1D, BARS_1M])
    for (const file of (await lake.snapshot(table)).files.keys())
      writeFileSync(join(lake.location, table.name, file), "damaged");
}

/** What reads give from segments, and what they give through the macro. */
async function readBothWays(
  lake: Lake,
  reads: readonly (readonly [table: string, options: ReadOptions])[],
  tables: readonly ("bars_1d" | "bars_1m")[] = ["bars_1d"],
): Promise<{ readonly segments: readonly unknown[]; readonly macro: readonly unknown[] }> {
  await using plain = openLake(lake.location, { ...OPTIONS, segments: false });
  const segments = { folder: temporaryFolder() };
  await using fast = openLake(lake.location, { ...OPTIONS, segments });
  const all = async (open: LakeConnection): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const [table, options] of reads)
      found.push({ options, found: await resultOf(open, table, options) });
    return found;
  };
  const macro = await all(plain);
  await fast.buildSegments(tables);
  await resultOf(fast, "bars_1d", { symbols: ["600519.SH"], adjust: "forward" });
  await damageBars(lake);
  return { segments: await all(fast), macro };
}

/** Values of a column by row, as SQL. */
const anyOf = (...values: readonly string[]) =>
  fc
    .nat(1000)
    .map((salt) => `([${values.join(", ")}])[1 + (hash(n * 1009 + ${salt}) % ${values.length})::INTEGER]`);
const price = anyOf(
  "10.0::DOUBLE",
  "10.0",
  "10.0",
  "9.5",
  "0.0",
  "-0.0",
  "-1.25",
  "NULL",
  "'NaN'",
  "'Infinity'",
  "1e-320",
);

const anyFile = fc.record({
  year: fc.constantFrom(2025, 2026),
  symbol: fc.constantFrom(...SYMBOLS),
  days: fc.uniqueArray(fc.nat(70), { minLength: 1, maxLength: 40 }),
  close: anyOf("10.0::DOUBLE", "10.0", "9.5", "0.0", "-0.0", "3.3", "'NaN'", "'Infinity'"),
  prevClose: price,
  settlement: price,
  volume: anyOf("0", "7", "100", "149", "150", "3000000000000"),
  lot: anyOf("100", "100", "1", "10"),
});

async function addBars(
  session: Session,
  lake: Lake,
  file: typeof anyFile extends fc.Arbitrary<infer F> ? F : never,
) {
  const { year, symbol, days, close, prevClose, settlement, volume, lot } = file;
  const rows = `SELECT '${symbol}' AS symbol, TIMESTAMPTZ '${year}-01-31 16:00:00Z' + INTERVAL (n) DAY AS timestamp,
      DATE '${year}-02-01' + n::INTEGER AS trade_date, ${close} AS open, ${close} + 1 AS high, -0.0::DOUBLE AS low, ${close} AS close,
      (${volume})::BIGINT AS volume, 1.5::DOUBLE AS amount, NULL::DOUBLE AS open_interest, (${prevClose})::DOUBLE AS prev_close,
      (${settlement})::DOUBLE AS settlement_price, (${lot})::INTEGER AS lot, n % 3 = 0 AS is_final
    FROM (SELECT unnest([${days.sort((a, b) => a - b).join(", ")}])::BIGINT AS n)`;
  await addFile(session, lake, BARS_1D, rows, {
    region: symbol.endsWith("HK") ? "HK" : "CN",
    year: String(year),
  });
}

const anyRead = fc.record(
  {
    symbols: fc.subarray(SYMBOLS, { minLength: 1 }),
    adjust: fc.constantFrom(...ADJUSTMENTS),
    from: fc.constantFrom("2025-02-20", "2026-01-01", "2026-03-01"),
    to: fc.constantFrom("2025-03-01", "2026-03-10", "2027-01-01"),
    columns: fc.subarray(
      ["symbol", "close", "open", "volume", "lot", "shares", "landed_bars", "prev_close"],
      { minLength: 1 },
    ),
  },
  { requiredKeys: ["symbols", "adjust"] },
);

test("adjusted bars of any prices come from segments as from the macro", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(anyFile, {
        minLength: 2,
        maxLength: 5,
        selector: ({ symbol, year }) => `${symbol} ${year}`,
      }),
      fc.uniqueArray(fc.nat(70), { maxLength: 30 }),
      fc.array(anyRead, { minLength: 3, maxLength: 6 }),
      async (files, known, reads) => {
        const lake = temporaryLake();
        for (const file of files) await addBars(session, lake, file);
        for (const year of known.length === 0 ? [] : [2025, 2026]) {
          const rows = `SELECT DATE '${year}-02-01' + unnest([${known.join(", ")}])::INTEGER AS trade_date, 'index' AS source`;
          await addFile(session, lake, TRADING_DAYS, rows, { region: "CN" });
        }
        const all = ADJUSTMENTS.map((adjust): ReadOptions => ({ symbols: SYMBOLS, adjust }));
        const found = await readBothWays(
          lake,
          [...all, ...reads].map((options) => ["bars_1d", options] as const),
        );
        expect(found.segments).toEqual(found.macro);
      },
    ),
    { numRuns: cases({ few: 1, more: 4, all: 200 }) },
  );
});

test("days and minutes of a simulated market are adjusted from segments, also as of a past time", async () => {
  const { lake } = await fillSimulated(temporaryFolder(), {
    symbols: 24,
    days: 400,
    end: "2026-03-31",
    minuteDays: 8,
  });
  // The files of a fixture are shared: they are not damaged here.
  await using plain = openLake(lake.location, { ...OPTIONS, segments: false });
  await using fast = openLake(lake.location, { ...OPTIONS, segments: { folder: temporaryFolder() } });
  await fast.buildSegments(["bars_1d", "bars_1m"]);
  const found = await plain.query<{ symbol: string }>(
    "SELECT symbol FROM ex_events GROUP BY ALL ORDER BY ALL",
  );
  const symbols = found.rows().map(({ symbol }) => symbol);
  expect(symbols.length).toBeGreaterThan(3);
  const asOf = lake.clock.now() - 1;
  for (const adjust of pickFrom(ADJUSTMENTS, { few: 1, more: 3, all: 5 }))
    for (const [table, options] of [
      ["bars_1d", { symbols, adjust }],
      [
        "bars_1d",
        { symbols, adjust, from: "2026-01-05", to: "2026-02-05", columns: ["close", "symbol", "volume"] },
      ],
      ["bars_1m", { symbols: symbols.slice(0, 3), adjust }],
      ["bars_1d", { symbols: symbols.slice(0, 2), adjust, asOf }],
    ] as const)
      expect(await resultOf(fast, table, options)).toEqual(await resultOf(plain, table, options));
});

const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const isPresent = existsSync(join(DATA, "MANIFEST.csv"));
if (!isPresent) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);

describe.skipIf(!isPresent)("real data", () => {
  test("are adjusted from segments as by the macro, in each row", async () => {
    const lake = temporaryLake();
    const folder = join(DATA, "bars_1d_adj2024");
    const files = readdirSync(folder).map((file) => join(folder, file));
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "import" } as const;
    await runImport(lake, "bars_1d", files, options, systemClock);
    const symbols = files.map((file) => basename(file).replace(/\.csv.*$/, ""));
    expect(symbols.length).toBeGreaterThan(10);
    const { segments, macro } = await readBothWays(
      lake,
      pickFrom(ADJUSTMENTS, { few: 1, more: 2, all: 5 }).map(
        (adjust) => ["bars_1d", { symbols, adjust }] as const,
      ),
    );
    expect(segments).toEqual(macro);
  });
});

once("what cannot be adjusted is refused, with what can be", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  await addBars(session, lake, {
    year: 2026,
    symbol: "600519.SH",
    days: [1],
    close: "1.5",
    prevClose: "1.5",
    settlement: "NULL",
    volume: "1",
    lot: "100",
  });
  await using open = openLake(lake.location, { ...OPTIONS, segments: { folder: temporaryFolder() } });
  const symbols = ["600519.SH"];
  await expect(open.read("instruments", { adjust: "forward" })).rejects.toThrow(
    "adjust is for bars_1d and bars_1m",
  );
  await expect(open.read("bars_1d", { symbols, adjust: "up" as "forward" })).rejects.toThrow(
    'adjust: "up" is not one of forward, backward, forward_additive, backward_additive, none',
  );
  await expect(open.read("bars_1d", { symbols, adjust: "none", columns: ["vwap"] })).rejects.toThrow(
    'it has no column "vwap"',
  );
});
