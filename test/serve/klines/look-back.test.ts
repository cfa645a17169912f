import fc from "fast-check";
import { expect, test } from "vitest";
import { PERIODS } from "../../../src/market/period.js";
import type { Region } from "../../../src/market/regions.js";
import { lookBackRanges, MINUTES_OF_A_DAY, seriesOf } from "../../../src/serve/klines/requested-bars.js";

const DAY = 86_400_000;

test("looks back further each time, and at last at everything", () => {
  const anyRange = fc.tuple(fc.nat(20_000), fc.nat(9_000)).map(([start, days]) => ({
    start: start * DAY,
    end: (start + days) * DAY + 1,
  }));
  fc.assert(
    fc.property(
      fc.constantFrom(...PERIODS),
      fc.constantFrom<Region>("CN", "HK", "US"),
      fc.integer({ min: 1, max: 10_000 }),
      anyRange,
      anyRange,
      fc.option(fc.nat(30_000 * DAY), { nil: undefined }),
      (period, region, count, labels, available, newest) => {
        const series = seriesOf(period);
        const ranges = lookBackRanges({ series, region, count, labels, available, newest });
        const slack = series.bucketDays * DAY;
        const all = {
          start: Math.max(labels.start - slack, available.start),
          end: Math.min(labels.end + slack, available.end),
        };
        expect(ranges).toHaveLength(all.start < all.end ? ranges.length || 1 : 0);
        if (ranges.length > 0) expect(ranges.at(-1)).toEqual(all);
        expect(ranges.length).toBeLessThanOrEqual(3);
        for (const [i, range] of ranges.entries()) {
          expect(range.end).toBe(all.end);
          if (i > 0) expect(range.start).toBeLessThan((ranges[i - 1] as typeof range).start);
        }
      },
    ),
  );
});

test("begins near the newest bar, and not at the table's first", () => {
  const series = seriesOf("1d");
  const available = { start: 0, end: 20_000 * DAY };
  const look = { series, region: "CN", count: 100, labels: available, available } as const;
  const [first] = lookBackRanges(look);
  expect(first?.start).toBeGreaterThan((20_000 - 200) * DAY);
  expect(first?.start).toBeLessThan((20_000 - 140) * DAY);
  const [earlier] = lookBackRanges({ ...look, newest: 10_000 * DAY });
  expect(earlier?.start).toBeLessThan((10_000 - 140) * DAY);
  expect(lookBackRanges({ ...look, newest: Number.NEGATIVE_INFINITY })).toEqual([available]);
});

test("days of minutes are whole: nothing before or after them is read", () => {
  const [labels, available] = [
    { start: 10 * DAY, end: 11 * DAY },
    { start: 0, end: 20 * DAY },
  ];
  const look = { series: MINUTES_OF_A_DAY, region: "CN", count: 1, labels } as const;
  expect(lookBackRanges({ ...look, available })).toEqual([labels]);
  expect(lookBackRanges({ ...look, available: { start: 0, end: 10.5 * DAY } })).toEqual([
    { start: 10 * DAY, end: 10.5 * DAY },
  ]);
  expect(lookBackRanges({ ...look, available: { start: 12 * DAY, end: 20 * DAY } })).toEqual([]);
});
