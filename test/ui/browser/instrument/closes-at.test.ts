import { expect, test } from "vitest";
import { closesAt } from "../../../../src/ui/browser/instrument/price-chart.js";

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
