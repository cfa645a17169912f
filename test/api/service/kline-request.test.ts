import { expect, test } from "vitest";
import { klineRequest, labelledLaterMs, landedCap } from "../../../src/api/service/kline-request.js";
import { BUCKETS, PERIODS } from "../../../src/market/period.js";

const NOW = Date.parse("2026-11-20T18:00:00Z");

test("dates are those of each exchange, and the window ends today", () => {
  const { rangeOf, byRegion, symbols } = klineRequest(["AAPL.US", "700.HK", "600519.SH", "AAPL.US"], {
    from: "2026-11-02",
  });
  expect(symbols).toEqual(["AAPL.US", "00700.HK", "600519.SH"]);
  expect([...byRegion]).toEqual([
    ["US", ["AAPL.US"]],
    ["HK", ["00700.HK"]],
    ["CN", ["600519.SH"]],
  ]);
  const text = ({ start, end }: { start: number; end: number }): string[] =>
    [start, end].map((ms) => new Date(ms).toISOString());
  expect(text(rangeOf("CN", NOW))).toEqual(["2026-11-01T16:00:00.000Z", "2026-11-21T16:00:00.000Z"]);
  expect(text(rangeOf("US", NOW))).toEqual(["2026-11-02T05:00:00.000Z", "2026-11-21T05:00:00.000Z"]);
  const instants = klineRequest(["AAPL.US"], { from: new Date(0), to: "2026-11-03T12:30:00+08:00" });
  expect(text(instants.rangeOf("US", NOW))).toEqual(["1970-01-01T00:00:00.000Z", "2026-11-03T04:30:00.000Z"]);
});

test.each(PERIODS)(
  "a window of %s has fewer bars than the cap, with every bucket that a session begins",
  (period) => {
    const bucket = BUCKETS[period];
    for (const cap of [100, 5000, 10_000]) {
      const days = (landedCap(period, 241, cap) - 1) / 241;
      if (bucket.kind === "minutes") expect(days * (Math.ceil(241 / bucket.minutes) + 2)).toBeLessThan(cap);
      else expect(landedCap(period, 241, cap)).toBe(cap);
    }
    if (bucket.kind === "landed") expect(labelledLaterMs(period)).toBe(0);
  },
);

test("an option that does not exist is refused", () => {
  const wrong = { from: "2026-01-01", adjustment: "forward" };
  expect(() => klineRequest(["600519.SH"], wrong)).toThrow('klines: there is no option "adjustment"');
});
