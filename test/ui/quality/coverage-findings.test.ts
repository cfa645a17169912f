import { expect, test } from "vitest";
import {
  countGaps,
  gapSubjects,
  gapsOf,
  type LedgerGaps,
} from "../../../src/ui/quality/coverage-findings.js";
import { NEVER_ASKED, qualityRules, UNEXPLAINED } from "../../../src/ui/quality/quality-rules.js";

const stretch = (dataset: string, first: string, last: string, days: number, isOpen = false) => {
  return { dataset, first, last, days, isOpen } as never;
};
const GAPS: NonNullable<LedgerGaps> = new Map([
  [
    "A.SH",
    {
      symbol: "A.SH",
      region: "CN",
      stretches: [
        stretch("bars_1d", "2024-01-02", "2024-01-05", 4),
        stretch("bars_1d", "2024-02-01", "2024-02-02", 2, true),
        stretch("bars_1m", "2024-03-01", "2024-03-01", 1),
      ],
    },
  ],
  ["B.US", { symbol: "B.US", region: "US", stretches: [stretch("bars_1d", "2024-01-02", "2024-01-31", 20)] }],
]);
const ruleOf = (name: string) => {
  const rule = qualityRules([]).find((one) => one.name === name);
  if (rule === undefined) throw new Error(name);
  return rule;
};

test("days are counted by region, those never asked for apart from those without an explanation", () => {
  expect(countGaps(GAPS, ruleOf(NEVER_ASKED)).counts).toEqual([
    { region: "US", findings: 20, subjects: 1, first: "2024-01-02", last: "2024-01-31" },
    { region: "CN", findings: 5, subjects: 1, first: "2024-01-02", last: "2024-03-01" },
  ]);
  expect(countGaps(GAPS, ruleOf(UNEXPLAINED)).counts.map(({ findings }) => findings)).toEqual([2]);
  expect(countGaps(undefined, ruleOf(UNEXPLAINED))).toEqual({ counts: [], unknown: "imported" });
});

test("a filter narrows symbols and days; a symbol's stretches are listed newest first, with what repairs them", () => {
  const rule = ruleOf(NEVER_ASKED);
  expect(gapSubjects(GAPS, rule, { symbol: "a." }, 1).rows.map(({ subject }) => subject)).toEqual(["A.SH"]);
  expect(gapSubjects(GAPS, rule, { from: "2024-02-10" }, 1).rows).toMatchObject([
    { subject: "A.SH", findings: 1 },
  ]);
  const { rows, total } = gapsOf(GAPS, rule, "A.SH", {}, 1, "d");
  expect(total).toBe(2);
  expect(rows.map(({ dataset, repairs }) => [dataset, repairs])).toEqual([
    ["bars_1m", "npx barlake run minute --repair --lake d"],
    ["bars_1d", "npx barlake run daily --repair --lake d"],
  ]);
});
