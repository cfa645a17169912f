import { expect, test } from "vitest";
import { askedLines, openLines } from "../../../src/cli/reports/report-text.js";
import type { TableCompleteness } from "../../../src/jobs/run/report/completeness.js";

const NOTHING = {
  dataset: "bars_1d",
  asked: { symbols: 0, sessions: 0 },
  received: { bars: 0 },
  absent: [],
  unexplained: [],
  setAside: [],
  withdrawn: [],
};
const WINDOW = {
  start: Date.parse("2024-01-08T00:00:00+08:00"),
  end: Date.parse("2024-01-13T00:00:00+08:00"),
};

test("a run in which nothing was asked for says nothing", () => {
  expect([...askedLines(NOTHING), ...openLines(NOTHING)]).toEqual([]);
});

test("what is absent, unexplained, set aside or withdrawn is said with symbol, days of the exchange and bars", () => {
  const facts: TableCompleteness = {
    ...NOTHING,
    asked: { symbols: 2, sessions: 10 },
    received: { bars: 4 },
    absent: [{ reason: "others_came", symbols: 1, sessions: 5 }],
    unexplained: [{ symbol: "600519.SH", ...WINDOW }],
    setAside: [{ symbol: "000001.SZ", window: WINDOW, bars: 232 }],
    withdrawn: [{ symbol: "000001.SZ", window: WINDOW, bars: 1 }],
  };
  const asked = askedLines(facts).join("\n");
  expect(asked).toContain("asked for 10 sessions of 2 symbols, received 4 bars");
  expect(asked).toContain("5 not in a response that had the others");
  const text = openLines(facts).join("\n");
  expect(text).toContain("600519.SH 2024-01-08 to 2024-01-12");
  expect(text).toContain("000001.SZ 2024-01-08 to 2024-01-12 (232 bars)");
  expect(text).toContain("(1 bar)");
});
