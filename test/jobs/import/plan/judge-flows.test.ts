import fc from "fast-check";
import { expect, test } from "vitest";
import { type Flow, flowKind } from "../../../../src/jobs/import/rows/statement-flows.js";
import { cases } from "../../../sweep.js";

const flows = (values: readonly number[], first = 2023 * 12 + 3): Flow[] =>
  values.map((value, i) => ({ month: first + 3 * i, value }));

test.each([
  ["cumulative", [100, 210, 320, 440, 110, 230, 350, 480]],
  ["cumulative", [400, 100, 210, 320, 440, 110]],
  ["discrete", [68_011, 69_685, 69_092, 76_048, 69_787, 74_604, 76_693, 86_310]],
  ["mixed", [123_945, 97_278, 82_959, 394_328, 117_154, 94_836, 81_797, 383_285]],
  ["unknown", [100, 210, 320]],
  ["unknown", [-5, 10, -3, 8, 2]],
  ["unknown", []],
] as const)("%s: %j", (kind, values) => {
  expect(flowKind(flows(values))).toBe(kind);
});

test("years alone, and quarters with a gap between all of them, show nothing", () => {
  const years = [100, 110, 120, 130, 140].map((value, i) => ({ month: 2020 * 12 + 12 * i, value }));
  expect(flowKind(years)).toBe("unknown");
  const halves = [100, 210, 110, 230, 120].map((value, i) => ({ month: 2020 * 12 + 6 * i, value }));
  expect(flowKind(halves)).toBe("unknown");
});

/** Quarters of companies of which none doubles or halves within a quarter. */
const quarters = fc
  .array(fc.double({ min: 0.8, max: 1.25, noNaN: true }), { minLength: 8, maxLength: 24 })
  .map((growth) => growth.reduce<number[]>((all, one) => [...all, (all.at(-1) ?? 1000) * one], []))
  .filter((values) => Math.max(...values) < 1.7 * Math.min(...values));
const runs = { numRuns: cases({ few: 200, all: 10_000 }) };

test("quarters alone are discrete, and their sums of each fiscal year are cumulative, whatever month it begins in", () => {
  fc.assert(
    fc.property(
      quarters,
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 12 }),
      (values, skip, month) => {
        const sums = values.map((_, i) =>
          values.slice(i - (i % 4), i + 1).reduce((sum, one) => sum + one, 0),
        );
        const first = 2020 * 12 + month;
        expect(flowKind(flows(values, first).slice(skip))).toBe("discrete");
        const whole = flows(sums, first).slice(skip);
        expect(["cumulative", "unknown"]).toContain(flowKind(whole));
        if (whole.length >= 8) expect(flowKind(whole)).toBe("cumulative");
      },
    ),
    runs,
  );
});
