import fc from "fast-check";
import { expect, test } from "vitest";
import { type Flow, flowKind } from "../../../../src/jobs/import/rows/statement-flows.js";
import { cases } from "../../../sweep.js";

const flows = (values: readonly number[], first = 2023 * 12 + 3): Flow[] =>
  values.map((value, i) => ({ month: first + 3 * i, value }));

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
