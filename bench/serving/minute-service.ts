import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ServiceClient } from "../../src/client/service-client.js";
import { systemClock } from "../../src/client/system-clock.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { planPipeline, type RunEnvironment } from "../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../src/lake/lake.js";
import type { RequestUnit } from "../../src/plan/request-units.js";
import { API_KEY_HEADER, LIMITS } from "../../src/wire/endpoints.js";
import type { YearSpec } from "../lakes/year-of-minutes.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { startReadyResponses } from "./ready-responses.js";

/** The order for the service's process. */
export interface ServiceOrder extends YearSpec {
  readonly apiKey: string;
  /** The service's current time, in epoch milliseconds. */
  readonly now: number;
}

/** The message of the service's process when it is ready. */
export interface ServiceStarted {
  readonly url: string;
  /** Number of its bars. */
  readonly rows: number;
}

export const API_KEY = "benchmark-key";
const NOW = Date.UTC(2026, 0, 5);
const CLOCK = { ...systemClock, now: () => NOW };

/** All the bars of the service, in the largest possible requests: an earlier run has learned its limits. */
export const MINUTES = definePipeline({
  name: "minute",
  kind: "bars",
  period: "1m",
  from: "2025-01-01",
  regions: ["CN"],
});
const LIMITS_LEARNED = { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: { "1m": LIMITS.maxCount } };

/** A service of minute bars in a separate process, whose memory does not count. */
export interface MinuteService extends ServiceStarted {
  readonly symbols: readonly string[];
  /** The first date of the last given number of months. */
  since(months: number): string;
  client(): ServiceClient;
  close(): void;
}

/** Starts a service with bars of the given number of symbols, from January 2025 on. */
export async function startMinuteService(spec: YearSpec): Promise<MinuteService> {
  const child = fork(fileURLToPath(new URL("service-process.ts", import.meta.url)));
  const started = new Promise<ServiceStarted>((resolve, reject) => {
    child.once("message", (message) => resolve(message as ServiceStarted));
    child.once("exit", (code, signal) => reject(new Error(`service process ended with ${signal ?? code}`)));
  });
  child.send({ ...spec, apiKey: API_KEY, now: NOW } satisfies ServiceOrder);
  const { url, rows } = await started;
  return {
    url,
    rows,
    symbols: Array.from({ length: spec.symbols }, (_, s) => `${600_000 + s}.SH`),
    since: (months) => new Date(Date.UTC(2025, spec.months - months)).toISOString().slice(0, 10),
    client: () => clientOf(url),
    close: () => child.disconnect(),
  };
}

function clientOf(url: string): ServiceClient {
  return new ServiceClient({ baseUrl: url, apiKey: API_KEY, clock: CLOCK });
}

/**
 * Ends a service, after another process has requested some responses, which sends them from its memory: a service on
 * another machine takes nothing from the cores of this one either.
 *
 * @param paths path and query of each request.
 */
export async function madeReady(service: MinuteService, paths: readonly string[]): Promise<MinuteService> {
  const headers = { [API_KEY_HEADER]: API_KEY };
  const ready = await startReadyResponses({ url: service.url, paths, headers });
  service.close();
  return { ...service, url: ready.url, client: () => clientOf(ready.url), close: () => ready.close() };
}

/** Where a benchmark runs the pipeline. */
export function environment(lake: Lake, client: ServiceClient): RunEnvironment {
  return { lake, client, clock: CLOCK, limits: { limits: LIMITS_LEARNED, learn: () => {} } };
}

/** The requests that the pipeline sends into an empty lake. */
export async function plannedUnits(symbols: readonly string[]): Promise<readonly RequestUnit[]> {
  using folder = temporaryFolder();
  const parts = {
    lake: new Lake(folder.path),
    clock: CLOCK,
    limits: { limits: LIMITS_LEARNED, learn: () => {} },
  };
  return (await planPipeline(MINUTES, { symbols }, parts)) ?? [];
}
