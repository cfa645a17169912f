import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { cannotListen } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { IsTradingDay } from "../../plan/due-times.js";
import { LEADS_ALL, type Leading } from "./leading.js";
import type { ScheduleMetrics } from "./metrics.js";
import { complaintOf, type PipelineState } from "./pipeline-state.js";

export interface MonitorOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly clock: Pick<Clock, "now">;
  readonly isTradingDay: IsTradingDay;
  readonly metrics: ScheduleMetrics;
  /** The pipelines that this schedule leads. @default all */
  readonly leading?: Pick<Leading, "leads" | "leaderOf">;
}

/** A running monitor. */
export interface Monitor {
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
