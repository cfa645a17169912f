import { expect, test } from "vitest";
import { coverageLines, planText } from "../../../src/cli/commands/dataset.js";
import type { Coverage } from "../../../src/dataset/panel/coverage.js";

test("a plan says of each field how much of it has no value, also where that is nothing", () => {
  const text = planText({
    name: "mine",
    format: "long-parquet",
    first: "2026-01-02",
    last: "2026-11-20",
    folder: "out",
    symbols: 1,
    labels: 2,
    rows: 2,
    bytes: 100,
    warnings: [],
    fields: [
      { name: "close", nulls: 0 },
      { name: "momentum", nulls: 0.25 },
    ],
    masks: ["tradable"],
  } as unknown as Parameters<typeof planText>[0]);
  expect(text).toMatch(/close +0 %\n/);
  expect(text).toMatch(/momentum +25\.0 %\n/);
});

const COVERAGE: Coverage = {
  recordedFrom: "2025-12-30",
  dates: 10,
  unrecorded: 4,
  ranges: [
    { first: "2025-12-30", last: "2025-12-31", dates: 2, members: 3000, withBars: 2999, withoutBars: 1 },
    { first: "2026-01-02", last: "2026-01-05", dates: 2, members: 3001, withBars: 3001, withoutBars: 0 },
    { first: "2026-01-06", last: "2026-01-07", dates: 2, members: 3000, withBars: 3000, withoutBars: 0 },
  ],
  noBars: ["600002.SH", "600003.SH", "600004.SH", "600005.SH"].map((symbol) => ({
    symbol,
    dates: 2,
    first: "2025-12-30",
    last: "2025-12-31",
    membership: [{ from: "2010-01-04", to: "2026-01-02" }],
  })),
  someBars: [{ symbol: "600009.SH", dates: 6, without: 2, first: "2025-12-30", last: "2025-12-31" }],
  joined: 1,
  left: 2,
  isTold: true,
};

test("coverage is by year, with the lowest date, and says how to get the bars of members", () => {
  expect(coverageLines(COVERAGE, "1d", "with --json").join("\n")).toMatchInlineSnapshot(`
    "year               members         with bars, at least
    before 2025-12-30  not on record
    2025               3,000           99.9 %: 2,999 of 3,000 on 2025-12-30
    2026               3,000 to 3,001  all
    without any bar: 4 members, 600002.SH (2010-01-04 to 2026-01-02), 600003.SH (2010-01-04 to 2026-01-02), 600004.SH (2010-01-04 to 2026-01-02) and 1 more
    without some bars: 1 member, 600009.SH on 2 of 6 dates, 2025-12-30 to 2025-12-31
    all of them: with --json
    get them: barlake run daily --symbols 600002.SH,600003.SH,600004.SH,... --from 2025-12-30
    where the service knows them no more: barlake import bars_1d FILES
    "
  `);
});

test("coverage that lacks nothing, or of no recorded date, is one line", () => {
  const { ranges } = COVERAGE;
  const whole = { ...COVERAGE, unrecorded: 0, ranges: ranges.slice(1), noBars: [], someBars: [] };
  expect(coverageLines(whole, "1d", "")).toEqual([
    "members 3,000 to 3,001 on each date, with bars of all of them",
  ]);
  const none = { ...COVERAGE, recordedFrom: null, ranges: [], noBars: [], someBars: [] };
  expect(coverageLines(none, "1d", "")).toEqual([expect.stringContaining("on no date on record")]);
  expect(coverageLines(undefined, "1d", "")).toEqual([]);
});
