import fc from "fast-check";
import { test } from "vitest";
import { cases } from "../sweep.js";
import { PROPERTIES } from "./properties.js";

test.each(PROPERTIES)("$name", async ({ property }) => {
  await fc.assert(property, { numRuns: cases({ few: 200, more: 500, all: 5000 }) });
});
