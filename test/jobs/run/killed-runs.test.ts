import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { restoreLake } from "../../../src/jobs/maintenance/restore-lake.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { lastRuns } from "../../../src/jobs/run/report/run-history.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { initialStates } from "../../../src/jobs/schedule/pipeline-state.js";
import { leasedRuns } from "../../../src/lake/requests/run-lease.js";
import { thisProcess } from "../../../src/lease/owner.js";
import { RUNS } from "../../../src/schema/runs.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { right, scriptedMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "-10d" };
const OPTIONS = { symbols: ["600519.SH", "000001.SZ"] };

/** The id of a process that has ended. */
const endedPid = (): number => spawnSync(process.execPath, ["--version"]).pid;

/** A lake in which a run landed everything, and whose process was killed before it could record that. */
async function killedMarket() {
  const market = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  const { lake, run, clock } = market;
  const startedAt = clock.now();
  const done = await run(DAILY, OPTIONS);
  await restoreLake(lake, { kind: "empty" }, { tables: [RUNS], clock });
  const folder = join(lake.location, "leases/runs");
  const leave = (runId: string, pid: number): void => {
    mkdirSync(folder, { recursive: true });
    const content = {
      ...thisProcess(),
      pid,
      runId,
      pipeline: "daily",
      asks: [],
      tables: ["bars_1d", "trading_days", "requests"],
      since: new Date(startedAt).toISOString(),
      service: "api.example:443",
      options: JSON.stringify(OPTIONS),
    };
    writeFileSync(join(folder, `${runId}.json`), `\n${JSON.stringify(content)}`);
  };
  const runs = () =>
    queryLake<Record<string, unknown>>(
      lake,
      'SELECT run_id, status, stopped, requests_sent, "rows", inserted, host, options FROM runs ORDER BY run_id',
    );
  return { ...market, done, leave, runs, startedAt };
}

test("two runs that find what a killed one left record it once, with what it had sent, received and landed", async () => {
  const { lake, client, clock, done, leave, runs } = await killedMarket();
  const pid = endedPid();
  leave(done.runId, pid);
  clock.advance(1000);
  const environment = { lake, client, clock };
  const both = await Promise.all([
    runPipeline(definePipeline(DAILY), OPTIONS, environment),
    runPipeline(definePipeline(DAILY), OPTIONS, environment),
  ]);
  expect(both.map(({ status }) => status)).toEqual(["complete", "complete"]);
  const [first, ...others] = await runs();
  expect(first).toMatchObject({
    run_id: done.runId,
    status: "killed",
    stopped: expect.stringContaining(`process ${pid} on `),
    requests_sent: BigInt(done.requests.sent),
    rows: BigInt(done.rows),
    inserted: BigInt(done.landed.reduce((sum, { inserted }) => sum + inserted, 0)),
    host: "api.example:443",
  });
  expect(JSON.parse(String(first?.options))).toEqual(OPTIONS);
  expect(others.map(({ status }) => status)).toEqual(["complete", "complete"]);
  // Nothing of it is left that a later run could find.
  expect(await leasedRuns(lake)).toEqual(new Map());
});

test("a run whose process is there, or that has its record, is not killed", async () => {
  const { run, leave, runs, clock, lake } = await killedMarket();
  leave("20240112T000000Z-living", process.pid);
  clock.advance(1000);
  const { runId } = await run(DAILY, OPTIONS);
  leave(runId, endedPid());
  clock.advance(1000);
  await run(DAILY, OPTIONS);
  expect((await runs()).map(({ status }) => status)).toEqual(["complete", "complete"]);
  expect([...(await leasedRuns(lake)).keys()]).toEqual(["20240112T000000Z-living"]);
});

test("a killed run serves no due time of its pipeline", async () => {
  const { run, leave, clock, lake, startedAt } = await killedMarket();
  leave("20240113T000000Z-killed", endedPid());
  clock.advance(1000);
  await run({ ...DAILY, name: "other" }, OPTIONS);
  const runs = await lastRuns(lake, OPTIONS);
  expect(runs.get("daily")).toMatchObject({ status: "killed", startedAt, lastSuccessAt: undefined });
  const pipeline = definePipeline({ ...DAILY, schedule: { cron: "0 18 * * *" } });
  const [state] = initialStates([pipeline], runs, { missed: true, neverRun: false }, clock.now());
  expect(state?.servedUntil).toBeLessThan(startedAt);
});
