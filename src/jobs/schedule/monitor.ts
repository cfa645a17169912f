import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { cannotListen } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { IsTradingDay } from "../../plan/due-times.js";
import type { ScheduleMetrics } from "./metrics.js";
import { complaintOf, type PipelineState } from "./pipeline-state.js";

export interface MonitorOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly clock: Pick<Clock, "now">;
  readonly isTradingDay: IsTradingDay;
  readonly metrics: ScheduleMetrics;
  /** The schedule of another machine that leads; undefined while this one does. @default always this one */
  readonly leader?: () => string | undefined;
}

/** A running monitor. */
export interface Monitor {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics` for Prometheus, and `GET /healthz`: 200 while every pipeline is well and no damaged file was
 * found in the lake, else 503 with the reasons. While another machine leads it is 200, with the leader's name.
 *
 * @throws {BarlakeError} where it cannot listen on the address.
 */
export async function startMonitor(
  states: readonly PipelineState[],
  { host, port, clock, isTradingDay, metrics, leader }: MonitorOptions,
): Promise<Monitor> {
  const app = fastify({ forceCloseConnections: true });
  app.get("/metrics", async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get("/healthz", async (_, reply) => {
    const other = leader?.();
    if (other !== undefined) return reply.send({ status: "standby", leader: other });
    const pipelines = states.flatMap((state) => {
      const reason = complaintOf(state, clock.now(), isTradingDay);
      return reason === undefined ? [] : [{ pipeline: state.pipeline.name, reason }];
    });
    const damagedFiles = metrics.damagedFiles();
    const isWell = pipelines.length === 0 && damagedFiles === 0;
    const damage = damagedFiles === 0 ? {} : { damaged_files: damagedFiles };
    return reply.code(isWell ? 200 : 503).send({ status: isWell ? "ok" : "unwell", pipelines, ...damage });
  });
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw cannotListen("monitor", { host, port }, cause, "give another --metrics-port, or leave it out");
  }
  const { address, port: taken, family } = app.server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`,
    close: () => app.close(),
  };
}
