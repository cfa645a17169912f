import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { lastRuns } from "../../../src/jobs/run/report/run-history.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import {
  type CatchUp,
  initialStates,
  type PipelineState,
} from "../../../src/jobs/schedule/pipeline-state.js";
import type { ScheduleEnvironment, ScheduleEvent } from "../../../src/jobs/schedule/run-schedule.js";
import { isWeekday } from "../../../src/market/sessions.js";
import type { IsTradingDay } from "../../../src/plan/due-times.js";
import type { Script } from "../../faults/service/scripted-service.js";
import { scriptedMarket } from "../scripted-market.js";

export const weekdays: IsTradingDay = (_, date) => isWeekday(date);

/** A pipeline of daily bars with a schedule. */
export function bars(name: string, schedule: PipelineDefinition["schedule"]): PipelineDefinition {
  return { name, kind: "bars", period: "1d", from: "-10d", symbols: ["600519.SH"], schedule };
}

/** A schedule on a scripted market. It ends at the first event at or after `until` (ISO text). */
export async function scheduledMarket(
  script: Script,
  { start, until }: { readonly start: string; readonly until: string },
) {
  const market = await scriptedMarket(script, start);
  const events: string[] = [];
  /** Hooks for a test. */
  const hooks = { onEvent: (_event: ScheduleEvent): void => {} };
  let controller = new AbortController();
  const onEvent = (event: ScheduleEvent): void => {
    hooks.onEvent(event);
    const at = new Date(market.clock.now()).toISOString().slice(5, 16);
    if (event.kind === "started") events.push(`${at} ${event.pipeline} started`);
    else if (event.kind === "ended") events.push(`${at} ${event.pipeline.name} ${event.outcome.status}`);
    else if (market.clock.now() >= Date.parse(until)) controller.abort();
  };
  /** A schedule that begins now, with the lake's knowledge. */
  const begin = async (
    definitions: readonly PipelineDefinition[],
    catchUp: CatchUp = { missed: true, neverRun: false },
  ): Promise<[states: PipelineState[], environment: ScheduleEnvironment]> => {
    controller = new AbortController();
    const { lake, client, clock } = market;
    const { signal } = controller;
    const run: ScheduleEnvironment["run"] = (pipeline) =>
      runPipeline(pipeline, {}, { lake, client, clock, signal });
    const pipelines = definitions.map(definePipeline);
    const states = initialStates(pipelines, await lastRuns(lake), catchUp, clock.now());
    return [states, { clock, signal, isTradingDay: weekdays, run, onEvent }];
  };
  return { ...market, events, hooks, begin, stop: () => controller.abort() };
}
