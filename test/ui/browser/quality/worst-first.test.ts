import { expect, test } from "vitest";
import { type CountState, findingsIn, worstFirst } from "../../../../src/ui/browser/quality/rule-counts.js";
import type { RuleReport, UnknownReason } from "../../../../src/ui/quality/quality-data.js";

const counted = (CN: number, US = 0, unknown: UnknownReason | null = null): CountState => ({
  kind: "counted",
  count: {
    unknown,
    counts: [
      { region: "CN", findings: CN, subjects: 1, first: null, last: null },
      { region: null, findings: US, subjects: 1, first: null, last: null },
    ],
  },
});

test("rules with findings come first, by severity and number; then what is not known; then the clean ones", () => {
  const rules: RuleReport[] = (
    [
      ["clean", "error"],
      ["few", "warning"],
      ["many", "warning"],
      ["grave", "error"],
      ["waiting", "error"],
      ["imported", "warning"],
    ] as const
  ).map(([name, severity]) => ({ name, severity, explanation: "" }));
  const counts = new Map<string, CountState>([
    ["clean", counted(0)],
    ["few", counted(3, 1)],
    ["many", counted(0, 9)],
    ["grave", counted(1)],
    ["imported", counted(0, 0, "imported")],
  ]);
  const names = (region: string): string[] => worstFirst(rules, counts, region).map(({ name }) => name);
  expect(names("")).toEqual(["grave", "many", "few", "waiting", "imported", "clean"]);
  expect(names("CN")).toEqual(["grave", "few", "waiting", "imported", "clean", "many"]);
  expect(findingsIn(counts.get("few"), "-")).toBe(1);
  expect(findingsIn(counts.get("imported"), "")).toBeUndefined();
});
