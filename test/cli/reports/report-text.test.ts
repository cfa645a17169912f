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

test("a run says what landed, what is open and where to read more; with -v, what was requested and each table", () => {
  const counts = { inserted: 1, updated: 0, unchanged: 0, filesAdded: 1, sample: [] };
  const report = {
    pipeline: "daily",
    status: "complete",
    requests: { sent: 1, answered: 1, empty: 0, refused: 0, failed: 0, planned: 1 },
    landed: [
      { ...counts, table: "bars_1d", version: 0 },
      { ...counts, inserted: 0, filesAdded: 0, table: "trading_days", version: -1 },
    ],
    ...Object.fromEntries(
      ["changes", "lists", "rejected", "failures", "symbols", "completeness", "notOffered"].map((n) => [
        n,
        [],
      ]),
    ),
  } as unknown as RunReport;
  const facts = { ...report, runId: "20261120T103000Z-3f9c1a", rows: 1, bytes: 1, durationMs: 1 };
  expect(runSummary(facts, "data").split("\n")).toEqual([
    "daily complete in 1 ms: 1 request; landed bars_1d 1 new",
    "nothing is open; everything about this run: barlake runs show 20261120T103000Z-3f9c1a --lake data",
  ]);
  const text = runSummary(facts, "data", true);
  expect(text).toContain("\n1 answered, 0 empty, 0 refused, 0 failed; 1 row, 1 B received\n");
  expect(text).toMatch(/^bars_1d +1 +0 +0 +1 +0$/m);
  // A table that has no version has nothing to say.
  expect(text).not.toMatch(/^trading_days/m);
});

test("the head of what went wrong is true of requests that failed, lists that lack rows, and of other things", () => {
  const report = {
    pipeline: "reference",
    status: "partial",
    ...Object.fromEntries(
      ["landed", "changes", "lists", "rejected", "symbols", "completeness", "notOffered"].map((n) => [n, []]),
    ),
  } as unknown as RunReport;
  const failed = { request: "instruments 000001", symbols: 0, reason: "status 500" };
  const refused = { request: "exchanges 000002", symbols: 0, reason: "status 400" };
  const incomplete = { request: "universes 000003", symbols: 0, reason: "the list may lack rows" };
  const unknown = { request: "members of universes", symbols: 2, reason: "their exchanges are not known" };
  const summary = (counts: { refused: number; failed: number }, failures: readonly object[]): string => {
    const requests = { sent: 5, answered: 3, empty: 0, planned: 5, ...counts };
    const facts = { requests, failures, rows: 1, bytes: 1, durationMs: 1 };
    return runSummary({ ...report, ...facts } as RunReport, "data");
  };
  const mixed = summary({ refused: 1, failed: 1 }, [failed, refused, incomplete, unknown]);
  expect(mixed).toMatch(/\n\n4 problems\nsubject +symbols +reason\n/);
  for (const { request, reason } of [failed, refused, incomplete, unknown])
    expect(mixed).toMatch(new RegExp(`^${request} .* ${reason}$`, "m"));
  // A refused request that was sent again in another way is not among the failures.
  const healed = summary({ refused: 1, failed: 0 }, [incomplete]);
  expect(healed).toMatch(/\n\n1 problem\nsubject /);
  for (const text of [mixed, healed]) expect(text).not.toMatch(/(failed|incomplete) request/);
  // Equal reasons have one row.
  const more = Array.from({ length: 6 }, (_, n) => ({ ...failed, request: `bars_1d ${n}`, symbols: 10 }));
  const equal = summary({ refused: 0, failed: 7 }, [failed, ...more, incomplete]);
  expect(equal).toMatch(/\n8 problems\n.*\ninstruments 000001 and 6 more +60 +status 500\nuniverses 000003 /);
});
