import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { REGIONS } from "../../../src/market/regions.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { cases } from "../../sweep.js";
import { land, liveRows, openSession, temporaryLake } from "../temporary-lake.js";

const SYMBOL = { CN: "600519.SH", HK: "00700.HK", US: "AAPL.US" } as const;
type Place = keyof typeof SYMBOL;

/** The date in a zone, by the platform's own calendar. */
function localDate(ms: number, zone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(ms);
}

test("a bar's trade date is the date in its exchange's zone: through changes of the clock, and before 1970", async () => {
  const session = await openSession();
  const changes = [
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z",
    "1986-05-03T18:00:00Z",
    "2024-03-10T07:00:00Z",
    "2024-11-03T06:00:00Z",
    "2026-11-20T05:00:00Z",
    "2026-11-20T16:00:00Z",
  ].map(Date.parse);
  const anyMidnight = fc
    .tuple(
      fc.integer({ min: -7300, max: 25_000 }),
      fc.constantFrom(-8, 4, 5),
      fc.integer({ min: -1_000_000, max: 1_000_000 }),
    )
    .map(([day, hours, by]) => day * DAY_MS + hours * 3_600_000 + by);
  const anyMoment = fc.oneof(
    { weight: 3, arbitrary: anyMidnight },
    fc.integer({ min: Date.UTC(1950, 0, 1), max: Date.UTC(2040, 0, 1) }),
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -7_200_000, max: 7_200_000 }))
      .map(([at, by]) => at + by),
    fc.constantFrom(...changes),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(anyMoment, { minLength: 1, maxLength: 20 }),
      fc.constantFrom<Place>("CN", "HK", "US"),
      async (moments, region) => {
        const lake = temporaryLake();
        await land(
          session,
          lake,
          BARS_1D,
          moments.map((at) => ({ symbol: SYMBOL[region], at })),
        );
        const rows = await liveRows<{ ms: bigint; date: string }>(
          session,
          lake,
          BARS_1D,
          "SELECT epoch_ms(timestamp) AS ms, trade_date::VARCHAR AS date FROM live",
        );
        expect(rows).toHaveLength(moments.length);
        for (const { ms, date } of rows) expect(date).toBe(localDate(Number(ms), REGIONS[region].zone));
      },
    ),
    { numRuns: cases({ few: 4, all: 100 }) },
  );
});
