import perfHooks from "node:perf_hooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import type { LastRun, RunOutcome } from "../../../src/jobs/run/report/run-history.js";
import { LEADS_ALL, type Leading } from "../../../src/jobs/schedule/leadership.js";
import { scheduleMetrics, startMonitor } from "../../../src/jobs/schedule/monitor.js";
import { initialStates } from "../../../src/jobs/schedule/pipeline-state.js";
import type { RunStatus } from "../../../src/schema/runs.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { bars, weekdays } from "./scheduled-market.js";

/** A Friday, three hours after the schedule's time. */
const NOW = Date.parse("2026-11-20T13:30:00Z");

function last(status: RunStatus, at: string): LastRun {
  const startedAt = Date.parse(at);
  return { status, startedAt, finishedAt: startedAt + 90_000, lastSuccessAt: startedAt - 1000 };
}

async function monitored(...runs: [string, LastRun][]) {
  return monitoredBy(LEADS_ALL, ...runs);
}

async function monitoredBy(leading: Leading, ...runs: [string, LastRun][]) {
  const pipelines = ["daily", "other"].map((name) =>
    definePipeline(bars(name, { at: "18:30", region: "CN" })),
  );
  const clock = virtualClock(NOW);
  const states = initialStates(pipelines, new Map(runs), { missed: true, neverRun: false }, NOW);
  const metrics = scheduleMetrics(states, clock, weekdays, leading);
  const options = { host: "127.0.0.1", port: 0, clock, isTradingDay: weekdays, metrics, leading };
  const monitor = await startMonitor(states, options);
  onTestFinished(() => monitor.close());
  const get = async (path: string) => {
    const response = await fetch(monitor.url + path);
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: await response.text(),
    };
  };
  return { states, clock, metrics, monitor, options, get };
}

const LEADING = [
  { pipeline: "daily", role: "leading" },
  { pipeline: "other", role: "leading" },
];

async function health(get: (path: string) => Promise<{ status: number; text: string }>) {
  const { status, text } = await get("/healthz");
  return [status, JSON.parse(text)];
}

test("all is well while each pipeline has run at its time, or is yet to", async () => {
  const { clock, get } = await monitored(["daily", last("complete", "2026-11-20T10:30:00Z")]);
  expect(await health(get)).toEqual([200, { status: "ok", pipelines: LEADING }]);
  clock.advance(2 * 86_400_000);
  expect(await health(get)).toEqual([200, { status: "ok", pipelines: LEADING }]);
});

test("a pipeline that has not run for more than an hour after its time is overdue, unless it runs", async () => {
  const { clock, states, get } = await monitored(["daily", last("complete", "2026-11-20T10:30:00Z")]);
  clock.advance(Date.parse("2026-11-23T11:30:00Z") - NOW);
  expect(await health(get)).toEqual([200, { status: "ok", pipelines: LEADING }]);
  clock.advance(1);
  const reason = "it was due at 2026-11-23T10:30:00.000Z and has not run";
  expect(await health(get)).toEqual([
    503,
    { status: "unwell", pipelines: LEADING.map((one) => ({ ...one, reason })) },
  ]);
  for (const state of states) state.running = true;
  expect((await health(get))[0]).toBe(200);
});

test.each<[RunStatus, number]>([
  ["partial", 200],
  ["failed", 503],
  ["refused", 503],
])("after a %s run the health is %i", async (status, expected) => {
  const { get } = await monitored(["daily", last(status, "2026-11-20T10:30:00Z")]);
  const [code, body] = await health(get);
  expect(code).toBe(expected);
  if (expected === 503) {
    expect(body.pipelines).toEqual([
      {
        pipeline: "daily",
        role: "leading",
        reason: `its last run, of 2026-11-20T10:30:00.000Z, ended ${status}`,
      },
      { pipeline: "other", role: "leading" },
    ]);
  }
});

test("the process is measured once, however many schedules and services it has", async () => {
  const measured = vi.spyOn(perfHooks, "monitorEventLoopDelay");
  onTestFinished(() => measured.mockRestore());
  const two = [await monitored(), await monitored()];
  expect(measured.mock.calls.length).toBeLessThanOrEqual(1);
  for (const { get } of two)
    expect((await get("/metrics")).text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
});

test("metrics: counters of the runs, gauges of the pipelines, and the process", async () => {
  const { metrics, get } = await monitored(["daily", last("complete", "2026-11-20T10:30:00Z")]);
  const outcome: RunOutcome = {
    pipeline: "daily",
    runId: "one",
    status: "partial",
    stopped: undefined,
    requests: { planned: 5, sent: 5, answered: 3, empty: 1, refused: 0, failed: 1 },
    rows: 1000,
    bytes: 50_000,
    failures: [],
    landed: [
      { table: "bars_1d", inserted: 900, updated: 2, unchanged: 98, sample: [], filesAdded: 1, version: 3 },
    ],
    completeness: [],
    startedAt: NOW,
    finishedAt: NOW + 1000,
  };
  metrics.count(outcome);
  metrics.count(outcome);
  metrics.countLostNotice();
  const { status, type, text } = await get("/metrics");
  expect([status, type]).toEqual([200, expect.stringMatching(/^text\/plain; version=0\.0\.4/)]);
  const lines = text.split("\n");
  for (const line of [
    'barlake_runs_total{pipeline="daily",status="partial"} 2',
    'barlake_runs_total{pipeline="other",status="complete"} 0',
    'barlake_requests_total{pipeline="daily",outcome="answered"} 6',
    'barlake_requests_total{pipeline="daily",outcome="failed"} 2',
    'barlake_rows_received_total{pipeline="daily"} 2000',
    'barlake_bytes_received_total{pipeline="daily"} 100000',
    'barlake_rows_landed_total{pipeline="daily",change="inserted"} 1800',
    "barlake_notices_lost_total 1",
    'barlake_pipeline_healthy{pipeline="daily"} 1',
    'barlake_pipeline_running{pipeline="other"} 0',
    `barlake_last_run_timestamp_seconds{pipeline="daily"} ${Date.parse("2026-11-20T10:30:00Z") / 1000}`,
    'barlake_last_run_duration_seconds{pipeline="daily"} 90',
    'barlake_last_run_status{pipeline="daily",status="complete"} 1',
    'barlake_last_run_status{pipeline="daily",status="failed"} 0',
    `barlake_last_success_timestamp_seconds{pipeline="daily"} ${Date.parse("2026-11-20T10:29:59Z") / 1000}`,
    `barlake_next_run_timestamp_seconds{pipeline="other"} ${Date.parse("2026-11-23T10:30:00Z") / 1000}`,
  ]) {
    expect(lines).toContain(line);
  }
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  expect(text).not.toMatch(/last_run_timestamp_seconds\{pipeline="other"\}/);
});

test("of pipelines that another schedule leads, it names the leader, and knows nothing else", async () => {
  const led = new Set<string>();
  const leader = "process 4711 on night-1, since 2026-11-20T10:00:00.000Z";
  const leading = {
    ...LEADS_ALL,
    leads: (name: string) => led.has(name),
    leaderOf: (name: string) => (name === "daily" ? leader : undefined),
  };
  const { get } = await monitoredBy(leading, ["daily", last("failed", "2026-11-20T10:30:00Z")]);
  const daily = { pipeline: "daily", role: "standby", leader };
  // Nobody is known to lead the other one yet.
  expect(await health(get)).toEqual([
    200,
    { status: "standby", pipelines: [daily, { pipeline: "other", role: "standby" }] },
  ]);
  led.add("other");
  expect(await health(get)).toEqual([
    200,
    { status: "ok", pipelines: [daily, { pipeline: "other", role: "leading" }] },
  ]);
  const { text } = await get("/metrics");
  expect(text.match(/^barlake_schedule_leading.*$/gm)).toEqual([
    'barlake_schedule_leading{pipeline="daily"} 0',
    'barlake_schedule_leading{pipeline="other"} 1',
  ]);
  expect(text).not.toMatch(/barlake_(pipeline_healthy|last_run_status)\{pipeline="daily"/);
  led.add("daily");
  expect((await health(get))[0]).toBe(503);
});

test("a port that is taken is refused with what to do", async () => {
  const { states, monitor, options } = await monitored();
  const port = Number(new URL(monitor.url).port);
  await expect(startMonitor(states, { ...options, port })).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^monitor: cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE/),
      hint: expect.stringMatching(/`metricsPort`/),
    }),
  );
});
