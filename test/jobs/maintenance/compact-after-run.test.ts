import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { landRequests } from "../../../src/jobs/ledger/ledger.js";
import { compactAfterRun, MOST_LANDED_FILES } from "../../../src/jobs/maintenance/optimize-lake.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../../src/lake/lake.js";
import { readHistory } from "../../../src/lake/log/history.js";
import { landedFiles } from "../../../src/lake/maintenance/optimize.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { REQUESTS, RUNS } from "../../../src/schema/runs.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { html } from "../../faults/service/scripted-service.js";
import { landRun } from "../../lake/land/land-run.js";
import { addMinuteFiles } from "../../lake/many-files.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";
import { right, scriptedMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "-10d",
  symbols: ["600519.SH"],
};
const TABLES = [BARS_1D, REQUESTS, RUNS];

async function rowsAt(lake: Lake, table: TableSchema, version: number): Promise<unknown[]> {
  const session = await openSession();
  const snapshot = await lake.snapshotAt(table, { versions: new Map([[table.name, version]]) });
  const relation = await parquetRelation(session, lake.filesOf(snapshot));
  return session.json(`SELECT * FROM (${relation}) ORDER BY ALL`);
}

/** Versions that compactions have made. */
async function compactions(lake: Lake, table: TableSchema): Promise<number[]> {
  const history = await readHistory(lake.storage, table);
  return history.flatMap(({ version, operation }) => (operation === "OPTIMIZE" ? [version] : []));
}

test("a run compacts nothing where that is not wanted", async () => {
  const { lake, client, clock } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  const session = await openSession();
  for (let n = 0; n <= MOST_LANDED_FILES; n++)
    await land(session, lake, BARS_1D, [{ at: Date.parse("2023-01-02T16:00:00Z") + n * DAY_MS }]);
  const run = (compacts?: boolean) =>
    runPipeline(
      definePipeline(DAILY),
      {},
      { lake, client, clock, ...(compacts !== undefined && { compacts }) },
    );
  expect(await run(false)).not.toHaveProperty("compaction");
  expect((await run()).compaction).toMatchObject({ tables: [{ table: "bars_1d" }], faults: [] });
});

test("runs leave few small files: what is above a number is compacted, and the rows are the same", async () => {
  let isAway = false;
  const { lake, clock, run } = await scriptedMarket(
    (seen, response, index) => (isAway ? html(response, 502) : right(seen, response, index)),
    "2024-01-13T00:00:00Z",
  );
  const night = async () => {
    clock.advance(DAY_MS);
    return run(DAILY);
  };
  const session = await openSession();
  // As runs of the same day leave them.
  for (let n = 1; n <= MOST_LANDED_FILES - 4; n++) {
    const at = clock.now() - n * 60_000;
    await landRun(session, lake, "nightly", at);
    await landRequests(session, lake, [{ ...EARLIER, requestId: String(n), askedAt: at }], {
      ...EARLIER,
      operation: "INGEST",
      now: at,
    });
  }
  const compacted = new Set<string>();
  // A few nights beyond the last one that compacts.
  for (let nights = 1, after = 0; nights <= 50 && after < 3; nights++) {
    const before = landedFiles(await lake.snapshot(RUNS));
    // A run that has failed changes nothing more.
    isAway = before === MOST_LANDED_FILES && !compacted.has("failed");
    const { status, compaction } = await night();
    if (status === "failed") {
      compacted.add("failed");
      expect(compaction).toBeUndefined();
      expect(landedFiles(await lake.snapshot(RUNS))).toBe(MOST_LANDED_FILES + 1);
      continue;
    }
    expect(status).toBe("complete");
    expect(compaction?.faults ?? []).toEqual([]);
    for (const { table } of compaction?.tables ?? []) compacted.add(table);
    if (compacted.size === 3) after += 1;
    for (const table of TABLES)
      expect(landedFiles(await lake.snapshot(table))).toBeLessThanOrEqual(MOST_LANDED_FILES);
  }
  expect(compacted).toEqual(new Set(["failed", "requests", "runs"]));
  for (const table of [REQUESTS, RUNS]) {
    const versions = await compactions(lake, table);
    expect(versions.length).toBeGreaterThan(0);
    const rows = await rowsAt(lake, table, Math.min(...versions) - 1);
    expect(rows.length).toBeGreaterThan(MOST_LANDED_FILES - 10);
    expect(await rowsAt(lake, table, Math.max(...versions))).toEqual(rows);
  }
});

const EARLIER = {
  runId: "earlier",
  pipeline: "daily",
  requestId: "0",
  dataset: "bars_1d",
  endpoint: "GET /v1/klines/batch",
  symbols: ["600000.SH"],
  status: "answered",
  attempts: 1,
  rows: 1,
  rejected: 0,
  bytes: 100,
  durationMs: 5,
  absent: [],
} as const;

/** A table with as many landed files in each month, from January 2015 on. */
async function scattered(...months: readonly number[]): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const [month, files] of months.entries())
    await addMinuteFiles(session, lake, { months: [month], files });
  return lake;
}

const filesByMonth = async (lake: Lake): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { partitionValues } of (await lake.snapshot(BARS_1M)).files.values())
    counts[partitionValues.month ?? ""] = (counts[partitionValues.month ?? ""] ?? 0) + 1;
  return counts;
};

test("it ends between partitions when its time is over, those with most files first; the next one goes on", async () => {
  const lake = await scattered(34, 36, 35);
  const clock = virtualClock(T0);
  const compact = () =>
    compactAfterRun(lake, [BARS_1M], clock, { runId: "test", onProgress: () => clock.advance(70_000) });
  expect(await compact()).toEqual({
    tables: [{ table: "bars_1m", filesBefore: 105, filesAfter: 36 }],
    faults: [],
  });
  expect(await filesByMonth(lake)).toEqual({ "2015-01-01": 34, "2015-02-01": 1, "2015-03-01": 1 });
  expect(await compact()).toMatchObject({ tables: [{ filesBefore: 36, filesAfter: 3 }] });
  expect(await compact()).toBeUndefined();
});

test("a table that cannot be compacted is a sentence of the result, and does not hold up the others", async () => {
  const lake = await scattered(MOST_LANDED_FILES + 1);
  const session = await openSession();
  for (let n = 0; n <= MOST_LANDED_FILES; n++)
    await land(session, lake, BARS_1D, [{ at: Date.parse("2024-01-05T16:00:00Z") + n * DAY_MS }]);
  const [file] = (await lake.snapshot(BARS_1M)).files.values();
  const path = join(lake.location, "bars_1m", file?.path ?? "");
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  writeFileSync(path, bytes);
  const compaction = await compactAfterRun(lake, [BARS_1M, BARS_1D], virtualClock(T0), { runId: "test" });
  expect(compaction?.tables).toEqual([{ table: "bars_1d", filesBefore: 33, filesAfter: 1 }]);
  expect(compaction?.faults).toEqual([expect.stringMatching(/^table bars_1m: .* is not what was written/)]);
  expect(await filesByMonth(lake)).toEqual({ "2015-01-01": MOST_LANDED_FILES + 1 });
});
