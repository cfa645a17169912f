import { expect, test } from "vitest";
import { basePeriod, PERIODS } from "../../src/market/period.js";

test("minutes come from 1m, days and longer from 1d", () => {
  const minutes = PERIODS.filter((period) => basePeriod(period) === "1m");
  const days = PERIODS.filter((period) => basePeriod(period) === "1d");
  expect(minutes).toEqual(["1m", "5m", "10m", "15m", "30m", "60m"]);
  expect(days).toEqual(["1d", "1w", "1M", "1Q", "1Y"]);
});
