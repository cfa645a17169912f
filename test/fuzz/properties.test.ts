import fc from "fast-check";
import { expect, test } from "vitest";
import { PROPERTIES } from "./properties.js";

test.each(PROPERTIES)("$name", async ({ property }) => {
  const { failed, numRuns } = await fc.check(property, { numRuns: 500 });
  expect({ failed, numRuns }).toEqual({ failed: false, numRuns: 500 });
});
