import { expect, test } from "vitest";
import { exFactor } from "../../../src/market/ex-rule.js";

test.each([
  [10, 5, 2],
  [10, 10, 1],
  [10, 10 * (1 + 1e-12), 1],
  [10, 0, 1],
  [10, -5, 1],
  [10, Number.NaN, 1],
  [10, Number.POSITIVE_INFINITY, 1],
  [10, Number.NEGATIVE_INFINITY, 1],
  [0, 5, 1],
  [Number.NaN, 5, 1],
  [Number.POSITIVE_INFINITY, 5, 1],
])("after a close of %d, a stated one of %d has the factor %d", (last, stated, factor) => {
  expect(exFactor(last, stated)).toBe(factor);
});
