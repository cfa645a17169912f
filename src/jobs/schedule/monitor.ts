import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { Counter, Gauge, Registry } from "prom-client";
import { cannotListen } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { processMetrics, withProcessMetrics } from "../../lake/local/process-metrics.js";
import { type IsTradingDay, nextDue } from "../../plan/due-times.js";
import { RUN_STATUSES } from "../../schema/runs.js";
import type { ScrubReport } from "../maintenance/scrub-lake.js";
import type { RunOutcome } from "../run/report/run-history.js";
import { LEADS_ALL, type Leading } from "./leadership.js";
import { complaintOf, type PipelineState } from "./pipeline-state.js";

interface ScheduleMetrics {
  count(outcome: RunOutcome): void;
  countScrub(report: ScrubReport): void;
  /** The number of files that the last verification found damaged. */
  damagedFiles(): number;
  countLostNotice(): void;
  text(): Promise<string>;
  readonly contentType: string;
}

const OUTCOMES = ["answered", "empty", "refused", "failed"] as const;

/** Metrics of a schedule: counters of its runs, and gauges that read the states at each scrape. */
export function scheduleMetrics(
  states: readonly PipelineState[],
  clock: Pick<Clock, "now">,
  isTradingDay: IsTradingDay,
  leading: Pick<Leading, "leads"> = LEADS_ALL,
): ScheduleMetrics {
  const registry = new Registry();
  const registers = [registry];
  processMetrics();
  const counter = <Name extends string>(name: string, help: string, ...labelNames: Name[]): Counter<Name> =>
    new Counter({ name, help, labelNames, registers });
  /** Only the schedule that leads a pipeline knows its state. */
  const ledStates = (): PipelineState[] => states.filter(({ pipeline }) => leading.leads(pipeline.name));
  /** A gauge with a value for each led pipeline that has one. */
  const gauge = (name: string, help: string, valueOf: (state: PipelineState) => number | undefined): void => {
    const collect = function (this: Gauge<"pipeline">): void {
      this.reset();
      for (const state of ledStates()) {
        const value = valueOf(state);
        if (value !== undefined) this.set({ pipeline: state.pipeline.name }, value);
      }
    };
    registry.registerMetric(new Gauge({ name, help, labelNames: ["pipeline"], registers: [], collect }));
  };
  const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

  const runs = counter("barlake_runs_total", "Runs that ended.", "pipeline", "status");
  const requests = counter("barlake_requests_total", "Requests by what came of them.", "pipeline", "outcome");
  const rows = counter("barlake_rows_received_total", "Bars or records received.", "pipeline");
  const bytes = counter("barlake_bytes_received_total", "Size of the responses, uncompressed.", "pipeline");
  const landed = counter("barlake_rows_landed_total", "Rows landed, by change.", "pipeline", "change");
  const lost = counter("barlake_notices_lost_total", "Notices that no webhook took.");
  for (const { pipeline } of states) {
    for (const status of RUN_STATUSES) runs.inc({ pipeline: pipeline.name, status }, 0);
  }
  gauge("barlake_pipeline_running", "1 while a run goes on.", ({ running }) => Number(running));
  gauge("barlake_pipeline_healthy", "0 where the last run failed, or one is overdue.", (state) =>
    Number(complaintOf(state, clock.now(), isTradingDay) === undefined),
  );
  gauge("barlake_last_run_timestamp_seconds", "Start of the last run.", ({ last }) =>
    seconds(last?.startedAt),
  );
  gauge("barlake_last_run_duration_seconds", "How long the last run took.", ({ last }) =>
    seconds(last && last.finishedAt - last.startedAt),
  );
  gauge("barlake_last_success_timestamp_seconds", "End of the last complete run.", ({ last }) =>
    seconds(last?.lastSuccessAt),
  );
  gauge("barlake_next_run_timestamp_seconds", "When the next run is due.", ({ pipeline }) =>
    seconds(nextDue(pipeline.schedule, clock.now(), isTradingDay)),
  );
  registry.registerMetric(lastStatus(ledStates));
  registry.registerMetric(
    new Gauge({
      name: "barlake_schedule_leading",
      help: "1 where this schedule runs the pipeline, 0 where it is on standby for another schedule.",
      labelNames: ["pipeline"],
      registers: [],
      collect() {
        for (const { pipeline } of states)
          this.set({ pipeline: pipeline.name }, Number(leading.leads(pipeline.name)));
      },
    }),
  );
  let damaged = 0;
  const damagedGauge = new Gauge({
    name: "barlake_damaged_files",
    help: "Files that the last verification found missing or damaged.",
    registers,
  });
  const verifiedGauge = new Gauge({
    name: "barlake_verified_since_timestamp_seconds",
    help: "Since when every file of the lake is known to be what was written.",
    registers,
  });
  return {
    count(outcome) {
      const { pipeline } = outcome;
      runs.inc({ pipeline, status: outcome.status });
      for (const one of OUTCOMES) requests.inc({ pipeline, outcome: one }, outcome.requests[one]);
      rows.inc({ pipeline }, outcome.rows);
      bytes.inc({ pipeline }, outcome.bytes);
      for (const { inserted, updated } of outcome.landed) {
        landed.inc({ pipeline, change: "inserted" }, inserted);
        landed.inc({ pipeline, change: "updated" }, updated);
      }
    },
    countScrub(report) {
      damaged = report.damaged.length;
      damagedGauge.set(damaged);
      if (report.verifiedSince !== undefined) verifiedGauge.set(report.verifiedSince / 1000);
    },
    damagedFiles: () => damaged,
    countLostNotice: () => lost.inc(),
    text: () => withProcessMetrics(registry),
    contentType: registry.contentType,
  };
}

function lastStatus(states: () => readonly PipelineState[]): Gauge<"pipeline" | "status"> {
  return new Gauge({
    name: "barlake_last_run_status",
    help: "1 for the status of the last run.",
    labelNames: ["pipeline", "status"],
    registers: [],
    collect() {
      this.reset();
      for (const { pipeline, last } of states()) {
        if (last === undefined) continue;
        for (const status of RUN_STATUSES)
          this.set({ pipeline: pipeline.name, status }, Number(last.status === status));
      }
    },
  });
}

interface MonitorOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly clock: Pick<Clock, "now">;
  readonly isTradingDay: IsTradingDay;
  readonly metrics: ScheduleMetrics;
  /** The pipelines that this schedule leads. @default all */
  readonly leading?: Pick<Leading, "leads" | "leaderOf">;
}

interface Monitor {
  readonly url: string;
  close(): Promise<void>;
}

/** The health of a pipeline, as `/healthz` reports it. */
type PipelineHealth =
  /** @param reason why it is not healthy; absent where it is healthy. */
  | { readonly pipeline: string; readonly role: "leading"; readonly reason?: string }
  /** @param leader the name of the schedule that leads it; absent where it is not known. */
  | { readonly pipeline: string; readonly role: "standby"; readonly leader?: string };

/**
 * Serves `GET /metrics` for Prometheus, and `GET /healthz`. The latter responds with 200 while every pipeline that this
 * schedule leads is healthy and no damaged file was found in the lake, else with 503. It names each pipeline, which
 * schedule leads it, and why it is not healthy.
 *
 * @throws {BarlakeError} where it cannot listen on the address.
 */
export async function startMonitor(
  states: readonly PipelineState[],
  { host, port, clock, isTradingDay, metrics, leading = LEADS_ALL }: MonitorOptions,
): Promise<Monitor> {
  const app = fastify({ forceCloseConnections: true });
  app.get("/metrics", async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get("/healthz", async (_, reply) => {
    const pipelines = states.map((state) => healthOf(state, leading, clock.now(), isTradingDay));
    const damagedFiles = metrics.damagedFiles();
    const isWell = damagedFiles === 0 && pipelines.every((one) => !("reason" in one));
    const isStandby = pipelines.every(({ role }) => role === "standby");
    const damage = damagedFiles === 0 ? {} : { damaged_files: damagedFiles };
    const status = !isWell ? "unwell" : isStandby ? "standby" : "ok";
    return reply.code(isWell ? 200 : 503).send({ status, pipelines, ...damage });
  });
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw cannotListen("monitor", { host, port }, cause, "give another `metricsPort`, or leave it out");
  }
  const { address, port: taken, family } = app.server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`,
    close: () => app.close(),
  };
}

function healthOf(
  state: PipelineState,
  leading: Pick<Leading, "leads" | "leaderOf">,
  now: number,
  isTradingDay: IsTradingDay,
): PipelineHealth {
  const pipeline = state.pipeline.name;
  if (leading.leads(pipeline)) {
    const reason = complaintOf(state, now, isTradingDay);
    return { pipeline, role: "leading", ...(reason === undefined ? {} : { reason }) };
  }
  const leader = leading.leaderOf(pipeline);
  return { pipeline, role: "standby", ...(leader === undefined ? {} : { leader }) };
}
