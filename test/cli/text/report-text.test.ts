import { expect, test } from "vitest";
import { rejectedTable } from "../../../src/cli/text/report-text.js";

test("a response of a wrong type is said to be one, and no number of rows is made up", () => {
  const wrong = { rule: "wrong_type", reason: "close is text, not an array", source: "GET x", line: null };
  const text = rejectedTable([{ ...wrong, rows: 0 }], "data");
  expect(text).toMatch(/^responses were not as they should be \(all of them/);
  expect(text).toContain("close is text, not an array");
  expect(text).not.toContain("0 rows");
  expect(rejectedTable([{ ...wrong, rows: 2 }], "data")).toMatch(/^2 rows set aside/);
});
