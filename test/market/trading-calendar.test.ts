import { expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { unknownSpans } from "../../src/market/trading-calendar.js";

const spansOf = (...known: string[]) => unknownSpans(known as TradingDate[]);

test("no day is known: every day is unknown", () => {
  expect(spansOf()).toEqual([{ after: undefined, before: undefined }]);
});

test("days before the first and after the last known one are unknown; a holiday of eight weekdays is not", () => {
  expect(spansOf("2024-02-08", "2024-02-21")).toEqual([
    { after: undefined, before: "2024-02-08" },
    { after: "2024-02-21", before: undefined },
  ]);
});

test("a gap of nine weekdays is unknown", () => {
  expect(spansOf("2024-02-08", "2024-02-22", "2024-02-23")).toEqual([
    { after: undefined, before: "2024-02-08" },
    { after: "2024-02-08", before: "2024-02-22" },
    { after: "2024-02-23", before: undefined },
  ]);
});
