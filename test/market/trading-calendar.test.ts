import { expect, test } from "vitest";
import { epochDay, type TradingDate } from "../../src/core/time.js";
import { unknownBetween, unknownSpans } from "../../src/market/trading-calendar.js";

const spansOf = (...known: string[]) => unknownSpans(known as TradingDate[]);

test("no day is known: every day is unknown", () => {
  expect(spansOf()).toEqual([{ after: undefined, before: undefined }]);
});

test("days before the first and after the last known one are unknown; the holiday of 1999 is not", () => {
  expect(spansOf("1999-02-09", "1999-03-01")).toEqual([
    { after: undefined, before: "1999-02-09" },
    { after: "1999-03-01", before: undefined },
  ]);
});

test("a gap of three weeks is unknown", () => {
  expect(spansOf("2024-02-08", "2024-02-29", "2024-03-01")).toEqual([
    { after: undefined, before: "2024-02-08" },
    { after: "2024-02-08", before: "2024-02-29" },
    { after: "2024-03-01", before: undefined },
  ]);
});

/** Known days: each weekday of March and July 2024. */
const KNOWN = ["2024-03", "2024-07"].flatMap((month) =>
  Array.from({ length: 31 }, (_, n) => `${month}-${String(n + 1).padStart(2, "0")}` as TradingDate).filter(
    (date) => ![0, 6].includes(new Date(date).getUTCDay()),
  ),
);

test.each([
  ["2024-03-01", "2024-03-29", false, "a suspension: the calendar knows the sessions between"],
  ["2024-03-29", "2024-07-01", true, "the gap of the calendar"],
  ["2024-03-01", "2024-07-31", true, "the gap of the calendar, among days that are known"],
  ["2024-05-01", "2024-05-21", false, "20 days within the gap"],
  ["2024-05-01", "2024-05-22", true, "three weeks within the gap"],
  ["2024-03-04", "2024-04-18", false, "from known days 20 days into the gap"],
  ["2024-03-04", "2024-04-19", true, "from known days three weeks into the gap"],
  ["2024-02-10", "2024-03-05", false, "20 days before the first known one"],
  ["2024-02-09", "2024-03-05", true, "three weeks before the first known one"],
  ["2024-07-10", "2024-08-20", false, "20 days after the last known one"],
  ["2024-07-10", "2024-08-21", true, "three weeks after the last known one"],
])("from %s to %s: %s, %s", (last, day, expected) => {
  const isUnknown = unknownBetween(KNOWN);
  expect(isUnknown(epochDay(last as TradingDate), epochDay(day as TradingDate))).toBe(expected);
});
