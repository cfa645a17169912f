import { tzOffset } from "@date-fns/tz";
import fc from "fast-check";
import { expect, test } from "vitest";
import { offsetMs } from "../../src/market/zone.js";

/** The zones of exchanges, and others that have changed their clocks in odd ways. */
const ZONES = [
  "UTC",
  "Asia/Shanghai",
  "Asia/Hong_Kong",
  "America/New_York",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "America/Caracas",
];
const FIRST = Date.parse("1930-01-01T00:00:00Z");
const LAST = Date.parse("2040-01-01T00:00:00Z");

test("is the platform's, at any instant", () => {
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), fc.integer({ min: FIRST, max: LAST }), (zone, ms) => {
      expect(offsetMs(zone, ms)).toBe(tzOffset(zone, new Date(ms)) * 60_000);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ["America/New_York", "2024-03-10T07:00:00Z"],
  ["America/New_York", "2024-11-03T06:00:00Z"],
  ["Asia/Shanghai", "1991-09-14T17:00:00Z"],
])("changes in %s at %s and not a millisecond earlier", (zone, text) => {
  const at = Date.parse(text);
  expect(Math.abs(offsetMs(zone, at) - offsetMs(zone, at - 1))).toBe(3_600_000);
  expect(offsetMs(zone, at + 1)).toBe(offsetMs(zone, at));
});

test("of no instant there is none", () => {
  expect(offsetMs("Asia/Shanghai", Number.NaN)).toBeNaN();
});
