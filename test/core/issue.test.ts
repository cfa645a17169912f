import { expect, test } from "vitest";
import { IssueLog, type IssueRule } from "../../src/core/issue.js";

test("an issue log stores the first ones in full and counts all", () => {
  const log = new IssueLog(2);
  for (const rejected of [1, 0, 5]) log.add({ rule: "wrong_type", message: `rejects ${rejected}`, rejected });
  expect(log.stored.map((issue) => issue.message)).toEqual(["rejects 1", "rejects 0"]);
  expect([log.total, log.rejected]).toEqual([3, 6]);
});

test("counts all issues by rule and symbol, and stores the first of each rule", () => {
  const log = new IssueLog(1);
  const add = (rule: IssueRule, symbol: string, rejected: number): void =>
    log.add({ rule, symbol, rejected, message: `${symbol} ${rule}` });
  add("duplicate_key", "a", 1);
  add("wrong_type", "b", 2);
  add("wrong_type", "b", 3);
  add("not_requested", "x", 0);
  add("not_requested", "y", 0);
  expect(log.stored.map(({ message }) => message)).toEqual([
    "a duplicate_key",
    "b wrong_type",
    "x not_requested",
  ]);
  expect(log.counts).toEqual([
    { rule: "duplicate_key", symbol: "a", rejected: 1 },
    { rule: "wrong_type", symbol: "b", rejected: 5 },
    { rule: "not_requested", symbol: undefined, rejected: 0 },
  ]);
});

test("a log takes the issues of another, apart from those of some symbols", () => {
  const [log, other] = [new IssueLog(1), new IssueLog(1)];
  log.add({ rule: "unsorted", message: "a", symbol: "A.SH", rejected: 1 });
  for (const symbol of ["A.SH", "A.SH", "B.SH"])
    other.add({ rule: "unsorted", message: "b", symbol, rejected: 2 });
  other.add({ rule: "out_of_range", message: "c", symbol: "A.SH", rejected: 4 });
  log.addAll(other, new Set(["B.SH"]));
  expect([log.total, log.rejected]).toEqual([4, 9]);
  expect(log.counts).toEqual([
    { rule: "unsorted", symbol: "A.SH", rejected: 5 },
    { rule: "out_of_range", symbol: "A.SH", rejected: 4 },
  ]);
  expect(log.stored.map(({ message }) => message)).toEqual(["a", "c"]);
});
