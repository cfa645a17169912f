import { mkdirSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { Session } from "../../../../src/db/session/session.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { lastRuns, listRuns, runDetails } from "../../../../src/jobs/run/report/run-history.js";
import type { Lake } from "../../../../src/lake/lake.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { html, json } from "../../../faults/service/scripted-service.js";
import { temporaryLake } from "../../../lake/temporary-lake.js";
import { dailyBars, right, scriptedMarket } from "../../scripted-market.js";

/** A Saturday: every session before it has settled. */
const NOW = "2024-01-13T00:00:00Z";
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2024-01-01",
  symbols: ["600519.SH", "000001.SZ"],
};

async function reader(lake: Lake): Promise<Session> {
  return (await openReader(lake, { threads: 1, statement: "runs, requests, rejects, reference_changes" }))
    .session;
}

test("a run is recorded with what it asked, got and landed", async () => {
  const { service, lake, clock, run } = await scriptedMarket((seen, response, index) => {
    clock.advance(1500);
    right(seen, response, index);
  }, NOW);
  const { runId } = await run(DAILY, { from: "2024-01-05" });
  using session = await reader(lake);
  expect(await listRuns(session, { limit: 5 })).toEqual([
    {
      run_id: runId,
      pipeline: "daily",
      started_at: new Date(NOW),
      finished_at: new Date(Date.parse(NOW) + 3000),
      status: "complete",
      stopped: null,
      // The time before the first bar is requested, because nothing gives the symbol's listing date.
      requests_planned: 2n,
      requests_sent: 2n,
      requests_answered: 1n,
      requests_empty: 1n,
      requests_refused: 0n,
      requests_failed: 0n,
      rows: 3n,
      rejected: 0n,
      bytes: expect.any(BigInt),
      inserted: 3n,
      updated: 0n,
      unchanged: 0n,
      host: new URL(service.url).host,
      engine: expect.stringMatching(/^barlake\/\d/),
      options: '{"from":"2024-01-05"}',
    },
  ]);
  const { absent, windows, failures } = await runDetails(session, runId.slice(0, 9));
  expect(absent).toEqual([{ dataset: "bars_1d", symbols: ["000001.SZ"] }]);
  expect(windows).toEqual([
    {
      dataset: "bars_1d",
      start: new Date("2024-01-04T16:00:00Z"),
      end: new Date("2024-01-13T16:00:00Z"),
      symbols: 2,
    },
  ]);
  expect(failures).toEqual([]);
});

test("a run that asks for nothing is recorded, in one small commit, and the views do not change", async () => {
  const { lake, clock, run } = await scriptedMarket(right, NOW);
  await run(DAILY);
  const before = (await lake.snapshots()).map(({ version }) => version);
  clock.advance(1000);
  const second = await run(DAILY);
  expect(second.requests.sent).toBe(0);
  const changed = (await lake.snapshots()).filter(({ version }, i) => version !== before[i]);
  expect(changed.map(({ table, files }) => [table.name, files.size])).toEqual([["runs", 2]]);
  expect((await lastRuns(lake)).get("daily")).toMatchObject({ status: "complete" });
});

test("the record is in lake.duckdb when the run is over", async () => {
  const { lake, run } = await scriptedMarket(right, NOW, temporaryLake({ hasDatabase: true }));
  const { runId } = await run(DAILY);
  using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  expect(await client.json("SELECT run_id, status FROM runs")).toEqual([
    { run_id: runId, status: "complete" },
  ]);
});

test("failures are listed by reason with their symbols; the last status is that of the newest run", async () => {
  let broken = true;
  const { lake, clock, run } = await scriptedMarket(
    (seen, response, index) => (broken ? html(response, 502) : right(seen, response, index)),
    NOW,
  );
  const failed = await run(DAILY);
  expect(failed.status).toBe("failed");
  using session = await reader(lake);
  const { run: row, failures } = await runDetails(session, failed.runId);
  expect(row).toMatchObject({ status: "failed", requests_failed: 1n, rows: 0n });
  expect(failures).toEqual([
    {
      status: "failed",
      http_status: 502,
      reason: expect.stringMatching(/status 502.*not the service's error body/),
      requests: 1,
      symbols: 2,
    },
  ]);
  const at = clock.now();
  expect((await lastRuns(lake)).get("daily")).toMatchObject({ status: "failed", lastSuccessAt: undefined });
  broken = false;
  clock.advance(60_000);
  await run(DAILY);
  expect((await lastRuns(lake)).get("daily")).toMatchObject({
    status: "complete",
    startedAt: at + 60_000,
    lastSuccessAt: at + 60_000,
  });
});

test("runs with other options are not taken for the pipeline's own", async () => {
  const { lake, clock, run } = await scriptedMarket(right, NOW);
  await run(DAILY, { symbols: ["600000.SH"] });
  expect(await lastRuns(lake)).toEqual(new Map());
  clock.advance(1000);
  await run(DAILY);
  expect([...(await lastRuns(lake)).keys()]).toEqual(["daily"]);
  expect((await lastRuns(lake, { symbols: ["600000.SH"] })).get("daily")?.startedAt).toBe(Date.parse(NOW));
});

test("an interrupted run is recorded, and is the last one only as long as there is no other", async () => {
  const controller = new AbortController();
  const { lake, run } = await scriptedMarket((seen, response, index) => {
    if (index > 0) return controller.abort();
    return json(response, 200, { data: dailyBars(seen) });
  }, NOW);
  const many = Array.from({ length: 900 }, (_, i) => `${600_000 + i}.SH`);
  const { status, runId } = await run(DAILY, { symbols: many }, controller.signal);
  expect(status).toBe("interrupted");
  using session = await reader(lake);
  expect((await runDetails(session, runId)).run).toMatchObject({ status: "interrupted" });
  expect((await lastRuns(lake, { symbols: many })).get("daily")?.status).toBe("interrupted");
});

test("a run whose views cannot be created is recorded as failed", async () => {
  const { lake, run } = await scriptedMarket(right, NOW, temporaryLake({ hasDatabase: true }));
  mkdirSync(lake.databaseFile, { recursive: true });
  const report = await run(DAILY);
  expect(report).toMatchObject({
    status: "failed",
    stopped: expect.stringMatching(/^lake\.duckdb: the views/),
  });
  using session = await reader(lake);
  const rows = await listRuns(session, { limit: 5 });
  expect(rows).toMatchObject([
    { run_id: report.runId, status: "failed", inserted: 3n, stopped: report.stopped },
  ]);
  expect(readdirSync(lake.databaseFile)).toEqual([]);
});

test("the pipeline's own symbols and end hold where the caller names none", async () => {
  const { service, run } = await scriptedMarket(right, NOW);
  await run({ ...DAILY, to: "2024-01-10" });
  expect(service.seen[0]?.query.get("symbols")).toBe("000001.SZ,600519.SH");
  expect(Number(service.seen[0]?.query.get("end_time"))).toBe(Date.parse("2024-01-09T16:00:00Z") - 1);
  const sent = service.seen.length;
  await run({ ...DAILY, to: "2024-01-10" }, { symbols: ["600000.SH"], to: "2024-01-09" });
  expect(service.seen[sent]?.query.get("symbols")).toBe("600000.SH");
  expect(Number(service.seen[sent]?.query.get("end_time"))).toBe(Date.parse("2024-01-08T16:00:00Z") - 1);
});

test("a run is found by the beginning of its id, if no other begins so", async () => {
  const { lake, clock, run } = await scriptedMarket(right, NOW);
  const first = await run(DAILY);
  clock.advance(86_400_000);
  const second = await run(DAILY);
  using session = await reader(lake);
  expect((await runDetails(session, "20240114")).run.run_id).toBe(second.runId);
  await expect(runDetails(session, "202401")).rejects.toThrow(
    expect.objectContaining({ name: "UsageError", hint: `give more of it: ${second.runId}, ${first.runId}` }),
  );
  await expect(runDetails(session, "2023")).rejects.toThrow(/^run 2023 is not known$/);
});
