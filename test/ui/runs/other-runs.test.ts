import { expect, test } from "vitest";
import { mergeRuns, tableChange } from "../../../src/ui/runs/pipeline-reports.js";

const LANDED = {
  pipeline: "daily",
  requests: 3,
  failed: 1,
  rows: 9,
  bytes: 10,
  firstAskedAt: 5,
  lastAskedAt: 7,
};

test("leases and the ledger are brought together by run; one that has ended is left out", () => {
  const runs = mergeRuns(
    new Map([
      ["20240101T000000Z-b", { pipeline: "daily", asks: ["bars_1d"], host: "h", pid: 1 }],
      ["20240103T000000Z-ended", { pipeline: "daily", asks: ["bars_1d"], host: "h", pid: 2 }],
    ]),
    [
      { ...LANDED, runId: "20240101T000000Z-b" },
      { ...LANDED, runId: "other" },
    ],
    new Set(["20240103T000000Z-ended"]),
  );
  expect(
    runs.map(({ runId, owner, asks, rows, startedAt }) => [runId, owner, asks, rows, startedAt]),
  ).toEqual([
    ["other", null, [], 9, 5],
    ["20240101T000000Z-b", "process 1 on h", ["bars_1d"], 9, Date.parse("2024-01-01T00:00:00Z")],
  ]);
});

test("a run's commits in a table are one change, from the version before to the last", () => {
  const entry = (version: number, runId: string, inserted: number) => {
    const none = { committedAt: 0, operation: "INGEST", engine: "", updated: undefined };
    return { ...none, version, runId, inserted, filesAdded: 2, filesRemoved: 1, bytesAdded: 10 };
  };
  const history = [entry(0, "a", 1), entry(1, "b", 2), entry(2, "a", 4), entry(3, "b", 8)];
  expect(tableChange("bars_1d", history, "b")).toEqual({
    table: "bars_1d",
    before: 0,
    after: 3,
    inserted: 10,
    updated: 0,
    filesAdded: 4,
    filesRemoved: 2,
    bytesAdded: 20,
  });
  expect(tableChange("bars_1d", history, "c")).toBeUndefined();
});
