import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import { type Clock, MINUTE_MS } from "../../core/time.js";
import type { VacuumReport } from "../../lake/maintenance/vacuum.js";
import type { IsTradingDay } from "../../plan/due-times.js";
import type { TableReports } from "../maintenance/each-table.js";
import type { DailyWork, ScrubReport } from "../maintenance/scrub-lake.js";
import type { Pipeline } from "../pipeline/definition.js";
import { type RunOutcome, settleRun } from "../run/report/run-history.js";
import type { RunReport } from "../run/run-pipeline.js";
import { LEADS_ALL, type Leading } from "./leadership.js";
import { dueAt, dueStates, type PipelineState } from "./pipeline-state.js";

/** Events of a schedule; times in epoch milliseconds. */
export type ScheduleEvent =
  /** No pipeline is due. `next`: when each pipeline is due next, the soonest first. */
  | { readonly kind: "waiting"; readonly next: readonly { readonly pipeline: string; readonly at: number }[] }
  | { readonly kind: "started"; readonly pipeline: string; readonly dueAt: number }
  | {
      readonly kind: "ended";
      readonly pipeline: Pipeline;
      readonly outcome: RunOutcome;
      readonly previous: PipelineState["last"];
      readonly error?: unknown;
    }
  /** What only old versions need was deleted, except in the tables of the errors. */
  | { readonly kind: "vacuumed"; readonly done: TableReports<VacuumReport> }
  | { readonly kind: "vacuum failed"; readonly error: unknown }
  /** A part of the lake was read and verified. */
  | { readonly kind: "scrubbed"; readonly report: ScrubReport }
  | { readonly kind: "scrub failed"; readonly error: unknown };

export interface ScheduleEnvironment {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly isTradingDay: IsTradingDay;
  /** Which pipelines this schedule runs. @default all */
  readonly leading?: Leading;
  /** Runs a pipeline; an error ends only that run. */
  readonly run: (pipeline: Pipeline) => Promise<RunReport>;
  /** Deletes what only old versions need once a day, when no pipeline is due. @default nothing */
  readonly vacuum?: DailyWork<TableReports<VacuumReport>> | undefined;
  /** Verifies a part of the lake once a day, when no pipeline is due. @default none */
  readonly scrub?: DailyWork<ScrubReport> | undefined;
  /** Called with each event. The schedule continues once its promise has resolved. */
  readonly onEvent: (event: ScheduleEvent) => void | Promise<void>;
}

/** Longest sleep, in milliseconds, so that due pipelines are found soon after a suspension or a change of the clock. */
const LONGEST_SLEEP_MS = MINUTE_MS;
/** Pause, in milliseconds, if the schedule cannot find out whether it still leads a pipeline that is due. */
const ASK_AGAIN_MS = 5000;

/**
 * Runs the pipelines that this schedule leads at their times, until the signal aborts. They run one after another,
 * because they share a key. A pipeline that became due several times in between runs once.
 *
 * @param states the states of the pipelines; they are updated when runs begin and end, for monitoring.
 */
export async function runSchedule(
  states: readonly PipelineState[],
  environment: ScheduleEnvironment,
): Promise<void> {
  const { clock, signal, isTradingDay, onEvent, leading = LEADS_ALL } = environment;
  let reported = "";
  while (!signal.aborted) {
    const awake = AbortSignal.any([signal, leading.changed]);
    const led = ledOf(states, leading);
    const [due] = dueStates(led, clock.now(), isTradingDay);
    if (due !== undefined) {
      if (await leading.confirm(due.pipeline.name)) await runOne(due, environment);
      else await clock.sleep(ASK_AGAIN_MS, awake).catch(unlessAborted(awake));
      continue;
    }
    const workAt = await workWhenDue(led, environment);
    if (signal.aborted) break;
    const next = nextRuns(led, isTradingDay);
    if (led.length > 0 && reported !== JSON.stringify(next)) await onEvent({ kind: "waiting", next });
    reported = JSON.stringify(next);
    await sleepUntil(Math.min(next[0]?.at ?? Number.POSITIVE_INFINITY, workAt), clock, awake);
  }
}

function ledOf(states: readonly PipelineState[], leading: Leading): PipelineState[] {
  return states.filter(({ pipeline }) => leading.leads(pipeline.name));
}

/**
 * Sleeps until a time (epoch milliseconds). Due times do not change during the sleep: only a run, its event, or a
 * change of leadership changes them. If the clock is set back, it returns at once.
 */
async function sleepUntil(at: number, clock: Clock, signal: AbortSignal): Promise<void> {
  let [before, now] = [Number.NEGATIVE_INFINITY, clock.now()];
  while (now >= before && now < at && !signal.aborted) {
    await clock.sleep(Math.min(at - now, LONGEST_SLEEP_MS), signal).catch(unlessAborted(signal));
    [before, now] = [now, clock.now()];
  }
}

/** Runs all pipelines that are due now, each once. @returns how the runs ended. */
export async function runDue(
  states: readonly PipelineState[],
  environment: ScheduleEnvironment,
): Promise<RunOutcome[]> {
  const { clock, signal, isTradingDay, leading = LEADS_ALL } = environment;
  const outcomes: RunOutcome[] = [];
  for (const state of dueStates(ledOf(states, leading), clock.now(), isTradingDay)) {
    if (signal.aborted || !(await leading.confirm(state.pipeline.name))) break;
    outcomes.push(await runOne(state, environment));
  }
  await workWhenDue(ledOf(states, leading), environment);
  return outcomes;
}

/** Does the daily work on the lake that is due, if this schedule leads a pipeline. @returns when the next is due. */
async function workWhenDue(led: readonly PipelineState[], environment: ScheduleEnvironment): Promise<number> {
  const { vacuum, scrub, onEvent } = environment;
  const vacuumAt = await doWhenDue(led, environment, vacuum, {
    onDone: (done) => onEvent({ kind: "vacuumed", done }),
    onFailed: (error) => onEvent({ kind: "vacuum failed", error }),
  });
  const scrubAt = await doWhenDue(led, environment, scrub, {
    onDone: (report) => onEvent({ kind: "scrubbed", report }),
    onFailed: (error) => onEvent({ kind: "scrub failed", error }),
  });
  return Math.min(vacuumAt, scrubAt);
}

async function doWhenDue<Report>(
  [led]: readonly PipelineState[],
  { clock, signal, leading = LEADS_ALL }: ScheduleEnvironment,
  work: DailyWork<Report> | undefined,
  on: {
    readonly onDone: (report: Report) => void | Promise<void>;
    readonly onFailed: (error: unknown) => void | Promise<void>;
  },
): Promise<number> {
  if (work === undefined || led === undefined || signal.aborted) return Number.POSITIVE_INFINITY;
  try {
    const at = await work.dueAt();
    if (at > clock.now()) return at;
    if (!(await leading.confirm(led.pipeline.name))) return clock.now() + ASK_AGAIN_MS;
    await on.onDone(await work.run(signal));
    return await work.dueAt();
  } catch (error) {
    await on.onFailed(error);
    return clock.now() + HOUR_MS;
  }
}

/** When each pipeline is due next, the soonest first. Pipelines that are never due again are left out. */
function nextRuns(
  states: readonly PipelineState[],
  isTradingDay: IsTradingDay,
): { readonly pipeline: string; readonly at: number }[] {
  return states
    .flatMap((state) => {
      const at = dueAt(state, isTradingDay);
      return at === undefined ? [] : [{ pipeline: state.pipeline.name, at }];
    })
    .sort((a, b) => a.at - b.at);
}

async function runOne(state: PipelineState, environment: ScheduleEnvironment): Promise<RunOutcome> {
  const { clock, isTradingDay, run, onEvent } = environment;
  const { pipeline, last: previous } = state;
  const due = dueAt(state, isTradingDay) ?? clock.now();
  await onEvent({ kind: "started", pipeline: pipeline.name, dueAt: due });
  state.servedUntil = clock.now() + 1;
  state.running = true;
  const settled = await settleRun(pipeline.name, clock, () => run(pipeline));
  state.running = false;
  const { outcome } = settled;
  if (outcome.status !== "interrupted") state.last = lastOf(outcome, previous);
  const error = settled.kind === "threw" && outcome.status === "failed" ? { error: settled.error } : {};
  await onEvent({ kind: "ended", pipeline, outcome, previous, ...error });
  return outcome;
}

function lastOf(
  { status, startedAt, finishedAt }: RunOutcome,
  previous: PipelineState["last"],
): PipelineState["last"] {
  const lastSuccessAt = status === "complete" ? finishedAt : previous?.lastSuccessAt;
  return { status, startedAt, finishedAt, lastSuccessAt };
}

function unlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}
