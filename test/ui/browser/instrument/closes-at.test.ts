import { expect, test } from "vitest";
import { closesAt, rangeStart, sharedTimes } from "../../../../src/ui/browser/instrument/price-chart.js";

test("an instrument of another calendar is compared at the times of the chart's own bars", () => {
  const times = Float64Array.of(10, 20, 30, 40, 50);
  const of = (...bars: (readonly [time: number, close: number])[]): number[] => [
    ...closesAt(times, {
      time: Float64Array.from(bars, ([time]) => time),
      close: Float64Array.from(bars, ([, close]) => close),
    }),
  ];
  expect(of([10, 1], [20, 2], [30, 3], [40, 4], [50, 5])).toEqual([1, 2, 3, 4, 5]);
  // Days that only one of the two traded on, before, between and after the others.
  expect(of([1, 7], [5, 8], [20, 2], [25, 9], [30, 3], [35, 4], [60, 6])).toEqual([8, 2, 3, 4, Number.NaN]);
  expect(of([60, 1])).toEqual(Array.from({ length: 5 }, () => Number.NaN));
  expect(of()).toHaveLength(5);
});

test("a comparison goes on to the newest day of any of its markets, and keeps the chart's own days", () => {
  const own = Float64Array.of(10, 20, 30);
  expect(sharedTimes(own, [Float64Array.of(5, 25, 30)])).toBe(own);
  expect([...sharedTimes(own, [Float64Array.of(25, 50), Float64Array.of(40, 50)])]).toEqual([
    10, 20, 30, 40, 50,
  ]);
});

test("a range begins so many months before the newest bar, at the end of a shorter month", () => {
  const start = (...of: Parameters<typeof rangeStart>): string =>
    new Date(rangeStart(...of) * 1000).toISOString();
  const newest = Date.parse("2026-05-31T15:00:00Z") / 1000;
  expect((["1M", "3M", "YTD", "1Y"] as const).map((range) => start(range, newest).slice(0, 10))).toEqual([
    "2026-04-30",
    "2026-02-28",
    "2026-01-01",
    "2025-05-31",
  ]);
  expect(rangeStart("all", newest)).toBe(Number.NEGATIVE_INFINITY);
});
