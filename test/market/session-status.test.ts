import { expect, test } from "vitest";
import type { Region } from "../../src/market/regions.js";
import { sessionStatus } from "../../src/market/sessions.js";

test.each([
  ["CN", "2024-03-15T09:14:59+08:00", "closed"],
  ["CN", "2024-03-15T09:15:00+08:00", "pre_market"],
  ["CN", "2024-03-15T09:30:00+08:00", "regular"],
  ["CN", "2024-03-15T11:30:00+08:00", "lunch_break"],
  ["CN", "2024-03-15T13:00:00+08:00", "regular"],
  ["CN", "2024-03-15T15:00:00+08:00", "after_hours"],
  ["CN", "2024-03-15T15:30:00+08:00", "closed"],
  ["CN", "2024-03-16T10:00:00+08:00", "closed"],
  ["HK", "2024-03-15T12:30:00+08:00", "lunch_break"],
  ["HK", "2024-03-15T16:05:00+08:00", "after_hours"],
  ["US", "2024-03-08T09:29:00-05:00", "pre_market"],
  ["US", "2024-03-11T09:30:00-04:00", "regular"],
  ["US", "2024-03-11T19:59:00-04:00", "after_hours"],
  ["US", "2024-03-11T20:00:00-04:00", "closed"],
] as const)("%s at %s: %s", (region: Region, time, status) => {
  expect(sessionStatus(region, Date.parse(time))).toBe(status);
});

test("a holiday that the calendar knows is closed", () => {
  expect(sessionStatus("CN", Date.parse("2024-10-01T10:00:00+08:00"), (date) => date !== "2024-10-01")).toBe(
    "closed",
  );
});
