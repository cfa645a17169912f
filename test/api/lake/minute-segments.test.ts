import fc from "fast-check";
import { expect, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { addFile } from "../../lake/bar-files.js";
import { openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
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

/** The rows of a file, in the order of symbols and instants. */
function rowsOf(minutes: readonly (typeof anyMinute extends fc.Arbitrary<infer M> ? M : never)[]): string {
  const values = minutes.map(
    ({ symbol, day, minute, shift }, n) => `('${symbol}', ${day}, ${minute}, ${shift}, ${n})`,
  );
  return `SELECT symbol, TIMESTAMPTZ '2026-03-01 01:31:00Z' + to_days(day - 1) + to_minutes(m) AS timestamp,
      DATE '2026-03-01' + (day - 1 + shift)::INTEGER AS trade_date, 10.0::DOUBLE AS open, 11.0::DOUBLE AS high, 9.0::DOUBLE AS low,
      (10 + n / 8)::DOUBLE AS close, n::BIGINT AS volume, n::DOUBLE AS amount, NULL::DOUBLE AS open_interest,
      CASE WHEN n % 2 = 0 THEN 10.0 END::DOUBLE AS prev_close, NULL::DOUBLE AS settlement_price, 100 AS lot, true AS is_final
    FROM (VALUES ${values.join(", ")}) v(symbol, day, m, shift, n) ORDER BY symbol, timestamp`;
}

test("minutes of any days of any files are read from segments as the view reads them", async () => {
  const session = await openSession();
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
        for (const read of reads) {
          const [found, expected] = [await fast.read("bars_1m", read), await plain.read("bars_1m", read)];
          expect(found.rows()).toEqual(expected.rows());
        }
      },
    ),
    { numRuns: cases({ few: 12, all: 300 }) },
  );
});
