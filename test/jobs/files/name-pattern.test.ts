import { expect, test } from "vitest";
import { namePattern, patternFault } from "../../../src/jobs/files/name-pattern.js";

test.each([
  ["*.csv", ["a.csv", "600519.SH.csv"], ["a.csv.gz", "b/a.csv", ".a.csv", "acsv"]],
  ["*.csv.gz", ["a.csv.gz"], ["a.csv", "acsvagz"]],
  ["**/*.csv", ["a.csv", "b/a.csv", "b/c/a.csv"], ["b/.c/a.csv", "b/.a.csv", "b/a.csvx"]],
  ["**", ["a", "b/c"], [".a", "b/.c"]],
  ["2026/**/x?.csv", ["2026/x1.csv", "2026/a/b/xy.csv"], ["x1.csv", "2026/x.csv", "2026/xab.csv"]],
  ["*.{csv,tsv}", ["a.csv", "a.tsv"], ["a.txt"]],
  ["bars-{1d,1m*}.csv", ["bars-1d.csv", "bars-1min.csv"], ["bars-1h.csv"]],
  [".*.csv", [".a.csv"], ["a.csv"]],
  ["a+(b)[c].csv", ["a+(b)[c].csv"], ["aab.csv", "a+(b)c.csv"]],
  ["日线*.csv", ["日线2026.csv"], ["日.csv"]],
])("%s", (pattern, meant, others) => {
  const isMeant = namePattern(pattern);
  expect(patternFault(pattern)).toBeUndefined();
  expect(meant.filter((name) => !isMeant(name))).toEqual([]);
  expect(others.filter(isMeant)).toEqual([]);
});

test.each([
  ["", /must name files/],
  ["/data/*.csv", /relative to the folder/],
  ["../*.csv", /relative to the folder/],
  ["a//b", /relative to the folder/],
  ["a/", /relative to the folder/],
  ["*.{csv", /brace/],
  ["{a,{b}}", /brace/],
])("%s is no pattern", (pattern, fault) => {
  expect(patternFault(pattern)).toMatch(fault);
});
