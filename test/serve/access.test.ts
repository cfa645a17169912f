import { expect, test } from "vitest";
import { keyCheck } from "../../src/serve/access.js";

test("knows its keys, and nothing else", () => {
  const keyOf = keyCheck(["first", "", "sécond"]);
  expect(keyOf("first")).toBe(0);
  expect(keyOf("sécond")).toBe(1);
  for (const text of ["", "First", "first ", "firs", "second"]) expect(keyOf(text)).toBeUndefined();
  expect(keyCheck([])("")).toBeUndefined();
});
