import { expect, test } from "vitest";
import { rejectedTable, runSummary } from "../../../src/cli/reports/report-text.js";
import type { RunReport } from "../../../src/jobs/run/run-pipeline.js";

test("a response of a wrong type is said to be one, and no number of rows is made up", () => {
  const wrong = { rule: "wrong_type", reason: "close is text, not an array", source: "GET x", line: null };
  const text = rejectedTable([{ ...wrong, rows: 0 }], "data");
  expect(text).toMatch(/^responses were not as they should be \(all of them/);
  expect(text).toContain("close is text, not an array");
  expect(text).not.toContain("0 rows");
  expect(rejectedTable([{ ...wrong, rows: 2 }], "data")).toMatch(/^2 rows set aside/);
});

test("a table that has no version is not listed among what landed", () => {
  const counts = { inserted: 1, updated: 0, unchanged: 0, filesAdded: 1, sample: [] };
  const report = {
    pipeline: "daily",
    status: "complete",
    requests: { sent: 1, answered: 1, empty: 0, refused: 0, failed: 0, planned: 1 },
    landed: [
      { ...counts, table: "bars_1d", version: 0 },
      { ...counts, table: "trading_days", version: -1 },
    ],
    ...Object.fromEntries(
      ["changes", "lists", "rejected", "failures", "symbols", "completeness", "notOffered"].map((n) => [
        n,
        [],
      ]),
    ),
  } as unknown as RunReport;
  const text = runSummary({ ...report, rows: 1, bytes: 1, durationMs: 1 }, "data");
  expect(text).toContain("bars_1d");
  expect(text).not.toMatch(/trading_days|-1/);
});

test("a response that lacks rows is not reported as a request that failed", () => {
  const report = {
    pipeline: "reference",
    status: "partial",
    requests: { sent: 2, answered: 1, empty: 0, refused: 0, failed: 0, planned: 2 },
    failures: [{ request: "universes 000007", symbols: 0, reason: "the list may lack rows" }],
    ...Object.fromEntries(
      ["landed", "changes", "lists", "rejected", "symbols", "completeness", "notOffered"].map((n) => [n, []]),
    ),
  } as unknown as RunReport;
  const summary = (failed: number): string =>
    runSummary(
      { ...report, requests: { ...report.requests, failed }, rows: 1, bytes: 1, durationMs: 1 },
      "data",
    );
  expect(summary(0)).toContain("1 incomplete request\n");
  expect(summary(1)).toContain("1 failed request\n");
});
