import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/core/errors.js";
import {
  dateOfEpochDay,
  epochDay,
  parseTradingDate,
  subtractRanges,
  type TimeRange,
  unionRanges,
} from "../../src/core/time.js";

const anyRange = fc
  .tuple(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -2, max: 12 }))
  .map(([start, size]): TimeRange => ({ start, end: start + size }));

/** The slow way: every integer of the ranges. */
function members(ranges: readonly TimeRange[]): Set<number> {
  const set = new Set<number>();
  for (const { start, end } of ranges) for (let i = start; i < end; i++) set.add(i);
  return set;
}

function ascending(set: Iterable<number>): number[] {
  return [...set].sort((a, b) => a - b);
}

function expectDisjoint(ranges: readonly TimeRange[]): void {
  for (const [i, range] of ranges.entries()) {
    expect(range.end).toBeGreaterThan(range.start);
    const previous = ranges[i - 1];
    if (previous) expect(range.start).toBeGreaterThan(previous.end);
  }
}

describe("ranges", () => {
  test("a union has the members of its ranges, sorted, disjoint and joined", () => {
    fc.assert(
      fc.property(fc.array(anyRange), (ranges) => {
        const union = unionRanges(ranges);
        expectDisjoint(union);
        expect(ascending(members(union))).toEqual(ascending(members(ranges)));
      }),
    );
  });

  test("a difference has the members of the range that no cut has", () => {
    fc.assert(
      fc.property(anyRange, fc.array(anyRange), (range, cut) => {
        const rest = subtractRanges(range, cut);
        expectDisjoint(rest);
        const gone = members(cut);
        expect(ascending(members(rest))).toEqual(ascending(members([range])).filter((i) => !gone.has(i)));
      }),
    );
  });

  test("neither changes its input", () => {
    const ranges = [
      { start: 5, end: 9 },
      { start: 1, end: 6 },
    ];
    const before = structuredClone(ranges);
    expect(unionRanges(ranges)).toEqual([{ start: 1, end: 9 }]);
    expect(subtractRanges({ start: 0, end: 10 }, ranges)).toEqual([
      { start: 0, end: 1 },
      { start: 9, end: 10 },
    ]);
    expect(ranges).toEqual(before);
  });
});

describe("trading dates", () => {
  test.each([
    ["2024-02-29", "2024-02-29"],
    ["20240229", "2024-02-29"],
    ["1990-12-19", "1990-12-19"],
  ])("%s is read", (text, date) => {
    expect(parseTradingDate(text)).toBe(date);
  });

  test.each([
    "2023-02-29",
    "2024-13-01",
    "2024-00-10",
    "2024-1-1",
    "2024-0101",
    "202401-01",
    "",
    "today",
    " 2024-01-01",
  ])("%j is refused", (text) => {
    expect(() => parseTradingDate(text)).toThrow(UsageError);
  });

  test("a day number and its date are each other's inverse", () => {
    fc.assert(
      fc.property(fc.integer({ min: -25_000, max: 80_000 }), (day) => {
        const date = dateOfEpochDay(day);
        expect(epochDay(date)).toBe(day);
        expect(parseTradingDate(date)).toBe(date);
        expect(parseTradingDate(date.replaceAll("-", ""))).toBe(date);
      }),
    );
  });
});
