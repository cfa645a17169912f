import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../sweep.js";
import { PROPERTIES } from "./properties.js";

const NUM_RUNS = cases({ few: 200, all: 5000 });

test.each(PROPERTIES)("$name", async ({ property }) => {
  const result = await fc.check(property, { numRuns: NUM_RUNS });
  expect(result.failed, fc.defaultReportMessage(result)).toBe(false);
  expect(result.numRuns).toBe(NUM_RUNS);
});
