import { expect, test } from "vitest";
import { endOfView, placeText, placeTime } from "../../../../src/ui/browser/instrument/price-chart.js";

test("a place of a chart goes into the address, and comes back as the same bar", () => {
  const day = Date.parse("2024-03-05T00:00:00Z") / 1000;
  const minute = Date.parse("2024-03-05T10:31:00Z") / 1000;
  expect([placeText(day, false), placeText(minute, true)]).toEqual(["2024-03-05", "2024-03-05T10:31"]);
  // A date means its last second: in a chart of minutes, the whole day is in view.
  expect(placeTime("2024-03-05")).toBe(day + 86_399);
  expect(placeTime("2024-03-05T10:31")).toBe(minute);
  for (const text of [undefined, "", "yesterday", "2024-13-99", "<img>"])
    expect(placeTime(text)).toBeUndefined();
});

test("the newest bar in view is no place", () => {
  const time = [10, 20, 30];
  expect([1.4, 0, -3, 1.9].map((to) => endOfView(time, to))).toEqual([20, 10, 10, undefined]);
  expect([2, 4].map((to) => endOfView(time, to))).toEqual([undefined, undefined]);
});
