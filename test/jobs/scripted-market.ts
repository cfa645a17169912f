import { onTestFinished } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import { definePipeline, type PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { type RunOptions, type RunReport, runPipeline } from "../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../src/lake/lake.js";
import type { ServiceLimits } from "../../src/lake/requests/service-limits.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { json, type Script, type Seen, startScripted } from "../faults/service/scripted-service.js";
import { fixtureLake } from "../lake/fixture-lake.js";
import { temporaryLake } from "../lake/temporary-lake.js";

const DAY = 86_400_000;
const NO_LIMITS: ServiceLimits = { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: {} };

/** Time of day in UTC of midnight in Shanghai. */
const MIDNIGHT = 16 * 3_600_000;

/**
 * Responds to a request for daily bars of Shanghai: one per day, only for the last three days of the window. A request
 * for the time before a bar that it gave gets that day's bar only.
 */
export function dailyBars(seen: Seen): object {
  const end = Number(seen.query.get("end_time")) + 1;
  const start = Number(seen.query.get("start_time"));
  const isLook = (end - 1) % DAY === MIDNIGHT;
  const days = isLook ? [end - 1] : [end - 3 * DAY, end - 2 * DAY, end - DAY].filter((ms) => ms >= start);
  const of = (value: number): number[] => days.map(() => value);
  const prices = { open: of(10), high: of(10), low: of(10), close: of(10) };
  const bars = { timestamp: days, ...prices, volume: of(100), amount: of(1e5) };
  const symbols = (seen.query.get("symbols") ?? "").split(",");
  return Object.fromEntries(
    symbols.filter((symbol) => symbol !== "000001.SZ").map((symbol) => [symbol, bars]),
  );
}

/** Columns of bars, by their name on the wire. */
export interface Bars {
  [column: string]: number[];
}

/** Daily bars of each symbol, on those of the days that lie in the window. @param days epoch milliseconds, ascending. */
export function barsOn(days: readonly number[], { query }: Seen, close = 10): Record<string, Bars> {
  const [start, end] = [Number(query.get("start_time")), Number(query.get("end_time"))];
  const timestamp = days.filter((ms) => ms >= start && ms <= end);
  const of = (value: number): number[] => timestamp.map(() => value);
  const prices = { open: of(close), high: of(close), low: of(close), close: of(close) };
  const bars = { timestamp, ...prices, volume: of(100), amount: of(close * 1e4) };
  return Object.fromEntries((query.get("symbols") ?? "").split(",").map((symbol) => [symbol, bars]));
}

/** Responds to every request for bars as {@link dailyBars} does. */
export const right: Script = (seen, response) => json(response, 200, { data: dailyBars(seen) });

/**
 * A scripted service, a lake, a client and a clock, and runs on them; a run may be given limits of the service that an
 * earlier run has learned.
 *
 * @param start ISO text.
 * @param retries of the client, with pauses of a millisecond.
 */
export async function scriptedMarket(
  script: Script,
  start: string,
  lake: Lake = temporaryLake(),
  retries = 0,
) {
  const service = await startScripted(script);
  const clock = virtualClock(start);
  const client = new ServiceClient({
    baseUrl: service.url,
    apiKey: "secret-key",
    clock,
    retries,
    backoffMs: 1,
    timeoutMs: 0,
  });
  onTestFinished(() => client.close());
  const run = (
    definition: PipelineDefinition,
    options: RunOptions = {},
    signal?: AbortSignal,
    known?: Partial<ServiceLimits>,
  ): Promise<RunReport> =>
    runPipeline(definePipeline(definition), options, {
      lake,
      client,
      clock,
      ...(signal && { signal }),
      ...(known && { limits: { limits: { ...NO_LIMITS, ...known }, learn: () => {} } }),
    });
  return { service, clock, client, lake, run };
}

/**
 * A market, as {@link scriptedMarket} makes it, on the lake that a first run has filled: it is filled once for all tests of a
 * file.
 *
 * @param fixture the file, what the content depends on, and whether the tests damage the lake.
 * @param first the first run, on an empty lake.
 */
export async function filledMarket(
  script: Script,
  start: string,
  fixture: Parameters<typeof fixtureLake>[1],
  first: (
    run: Awaited<ReturnType<typeof scriptedMarket>>["run"],
    clock: ReturnType<typeof virtualClock>,
  ) => Promise<unknown>,
) {
  const lake = await fixtureLake(temporaryLake().location, fixture, async (empty) => {
    const { run, clock } = await scriptedMarket(script, start, empty);
    await first(run, clock);
  });
  return scriptedMarket(script, start, lake);
}
