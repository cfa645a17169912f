import { expect, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import type { Region } from "../../../src/market/regions.js";
import { parseReplayTime } from "../../../src/serve/replay/add-replay.js";

const CN: readonly [Region, TradingDate] = ["CN", "2026-11-20" as TradingDate];
const HK: readonly [Region, TradingDate] = ["HK", "2026-11-19" as TradingDate];
const US: readonly [Region, TradingDate] = ["US", "2026-11-21" as TradingDate];

function parsed(text: string, ...regions: readonly (readonly [Region, TradingDate])[]): string {
  return new Date(parseReplayTime(text, new Map(regions))).toISOString();
}

test("a time without a date is of the newest day of the exchanges in its zone", () => {
  expect(parsed("09:31", CN)).toBe("2026-11-20T01:31:00.000Z");
  expect(parsed("09:31:30", CN, HK)).toBe("2026-11-20T01:31:30.000Z");
  expect(parsed("09:31", HK)).toBe("2026-11-19T01:31:00.000Z");
  expect(parsed("09:31+08:00", CN, US)).toBe("2026-11-20T01:31:00.000Z");
  expect(parsed("09:31-05:00", CN, US)).toBe("2026-11-21T14:31:00.000Z");
});

test("a time with a date needs no newest day", () => {
  expect(parsed("2026-11-02T09:31", CN)).toBe("2026-11-02T01:31:00.000Z");
  expect(parsed("2026-11-02T01:31Z", CN, US)).toBe("2026-11-02T01:31:00.000Z");
});

test.each([
  ["09:31", [CN, US], /has no zone, and the lake has exchanges in Asia\/Shanghai and America\/New_York/],
  ["09:31+09:00", [CN, US], /no exchange of the lake is in this zone/],
  ["09:31-05:00", [CN], /no exchange of the lake is in this zone/],
  ["25:00", [CN], /is no time of day/],
  ["9:31", [CN], /is no time/],
] as const)("%s is refused", (text, regions, message) => {
  expect(() => parsed(text, ...regions)).toThrow(message);
});
