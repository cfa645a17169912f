import { expect, test } from "vitest";
import { IssueLog } from "../../src/core/issue.js";

test("an issue log keeps the first ones in full and counts all", () => {
  const log = new IssueLog(2);
  for (const rejected of [1, 0, 5]) log.add({ rule: "wrong_type", message: `rejects ${rejected}`, rejected });
  expect(log.kept.map((issue) => issue.message)).toEqual(["rejects 1", "rejects 0"]);
  expect([log.total, log.rejected]).toEqual([3, 6]);
});
