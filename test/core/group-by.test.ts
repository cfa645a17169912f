import { expect, test } from "vitest";
import { groupBy } from "../../src/core/group-by.js";

test("groups are in the order of their first members, and members in theirs", () => {
  const groups = groupBy(["b1", "a1", "b2", "c1", "a2"], (text) => text[0]);
  expect([...groups]).toEqual([
    ["b", ["b1", "b2"]],
    ["a", ["a1", "a2"]],
    ["c", ["c1"]],
  ]);
});
