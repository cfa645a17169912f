import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { addFile } from "../../lake/bar-files.js";
import { openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";

const SYMBOLS = ["000001.SZ", "430047.BJ", "600519.SH"];

/**
 * A minute, by its day in March 2026 and its number in the day. Rarely, its trading date is the day before or after, so
 * that dates and instants are not in the same order.
 */
const anyMinute = fc.record({
  symbol: fc.constantFrom(...SYMBOLS),
  day: fc.integer({ min: 2, max: 5 }),
  minute: fc.nat(3),
  shift: fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
});
const anyFile = fc.uniqueArray(anyMinute, {
  minLength: 1,
  maxLength: 30,
  selector: ({ symbol, day, minute }) => `${symbol} ${day} ${minute}`,
});
const anyDate = fc.integer({ min: 1, max: 6 }).map((day) => `2026-03-0${day}`);
const anyRead = fc.record(
  { symbols: fc.subarray(SYMBOLS, { minLength: 1 }), from: anyDate, to: anyDate },
  { requiredKeys: ["symbols"] },
);

type Minutes = typeof anyFile extends fc.Arbitrary<infer M> ? M : never;

/** The rows of a file, in the order of symbols and instants. */
function rowsOf(minutes: Minutes): string {
  const values = minutes.map(
    ({ symbol, day, minute, shift }, n) => `('${symbol}', ${day}, ${minute}, ${shift}, ${n})`,
  );
  return `SELECT symbol, TIMESTAMPTZ '2026-03-01 01:31:00Z' + to_days(day - 1) + to_minutes(m) AS timestamp,
      DATE '2026-03-01' + (day - 1 + shift)::INTEGER AS trade_date, 10.0::DOUBLE AS open, 11.0::DOUBLE AS high, 9.0::DOUBLE AS low,
      (10 + n / 8)::DOUBLE AS close, n::BIGINT AS volume, n::DOUBLE AS amount, NULL::DOUBLE AS open_interest,
      CASE WHEN n % 2 = 0 THEN 10.0 END::DOUBLE AS prev_close, NULL::DOUBLE AS settlement_price, 100 AS lot, true AS is_final
    FROM (VALUES ${values.join(", ")}) v(symbol, day, m, shift, n) ORDER BY symbol, timestamp`;
}

/** Whether the rows can only come from a segment: of one file whose trading dates are in the order of its instants. */
const areSegmentable = (files: readonly Minutes[]): boolean =>
  files.length === 1 && files.every((minutes) => minutes.every(({ shift }) => shift === 0));

test("minutes of any days of any files are read from segments as the view reads them", async () => {
  const session = await openSession();
  let fromSegments = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyFile, { minLength: 1, maxLength: 2 }),
      fc.array(anyRead, { minLength: 8, maxLength: 8 }),
      async (files, reads) => {
        const lake = temporaryLake();
        for (const minutes of files)
          await addFile(session, lake, BARS_1M, rowsOf(minutes), { region: "CN", month: "2026-03-01" });
        const open = { hasDatabase: false, threads: 1 };
        await using plain = openLake(lake.location, { ...open, segments: false });
        await using fast = openLake(lake.location, { ...open, segments: { folder: temporaryFolder() } });
        await fast.buildSegments(["bars_1m"]);
        const expected: object[] = [];
        for (const read of reads) expected.push((await plain.read("bars_1m", read)).rows());
        if (areSegmentable(files)) {
          fromSegments += 1;
          for (const file of (await lake.snapshot(BARS_1M)).files.keys())
            writeFileSync(join(lake.location, BARS_1M.name, file), "damaged");
        }
        for (const [at, read] of reads.entries())
          expect((await fast.read("bars_1m", read)).rows()).toEqual(expected[at]);
      },
    ),
    { numRuns: cases({ few: 5, more: 12, all: 300 }) },
  );
  expect(fromSegments).toBeGreaterThan(0);
});

once("a read of too many symbols and files for segments has none built", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  for (let minute = 0; minute < 60; minute++) {
    const rows = rowsOf(["600000.SH", "601199.SH"].map((symbol) => ({ symbol, day: 2, minute, shift: 0 })));
    await addFile(session, lake, BARS_1M, rows, { region: "CN", month: "2026-03-01" });
  }
  const folder = temporaryFolder();
  await using open = openLake(lake.location, { hasDatabase: false, threads: 1, segments: { folder } });
  const built = async (symbols: readonly string[]): Promise<number> => {
    // The first read of an open lake has none built.
    for (let read = 0; read < 2; read++) expect((await open.read("bars_1m", { symbols })).numRows).toBe(120);
    // It waits for what was ordered before.
    await open.buildSegments(["bars_1d"]);
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".bars"))
      .length;
  };
  const many = Array.from({ length: 1200 }, (_, n) => `${600_000 + n}.SH`);
  expect(await built(many)).toBe(0);
  expect(await built(["600000.SH", "601199.SH"])).toBe(60);
});
