import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import { DAY_MS } from "../../core/time.js";
import { type IsTradingDay, nextDue } from "../../plan/due-times.js";
import type { Pipeline } from "../pipeline/definition.js";
import type { LastRun } from "../run/report/run-history.js";

/** The state of a scheduled pipeline; times in epoch milliseconds. */
export interface PipelineState {
  readonly pipeline: Pipeline;
  /** Due times before this one have been served, or are skipped. */
  servedUntil: number;
  running: boolean;
  /** The last run; undefined where the pipeline never ran. */
  last: LastRun | undefined;
}

/** How due times are handled that passed while no schedule was running. */
export interface CatchUp {
  /** Whether a pipeline that missed its time runs at once. */
  readonly missed: boolean;
  /** Whether a pipeline that never ran counts as having missed its time. */
  readonly neverRun: boolean;
}

/** Due times that are older than this, in milliseconds, are dropped. */
const CATCH_UP_MS = DAY_MS;
/** A pipeline that is overdue for longer than this, in milliseconds, is not healthy. */
const OVERDUE_MS = HOUR_MS;

export function initialStates(
  pipelines: readonly Pipeline[],
  lastRuns: ReadonlyMap<string, LastRun>,
  { missed, neverRun }: CatchUp,
  now: number,
): PipelineState[] {
  return pipelines.map((pipeline) => {
    const last = lastRuns.get(pipeline.name);
    const since = servedBefore(last) ?? (neverRun ? 0 : now);
    const servedUntil = missed ? Math.max(since, now - CATCH_UP_MS) : now;
    return { pipeline, servedUntil, running: false, last };
  });
}

/**
 * Updates the states with runs of other machines, before this schedule leads.
 *
 * @param standbySince epoch milliseconds. Pipelines that became due after it were not missed: no schedule led them.
 */
export function catchUpWith(
  states: readonly PipelineState[],
  lastRuns: ReadonlyMap<string, LastRun>,
  { missed, neverRun }: CatchUp,
  standbySince: number,
  now: number,
): void {
  const pipelines = states.map(({ pipeline }) => pipeline);
  for (const [index, fresh] of initialStates(
    pipelines,
    lastRuns,
    { missed: true, neverRun },
    now,
  ).entries()) {
    const state = states[index] as PipelineState;
    const since = neverRun || fresh.last !== undefined ? fresh.servedUntil : Math.min(standbySince, now);
    state.servedUntil = missed ? since : Math.max(since, standbySince);
    state.last = fresh.last;
  }
}

/**
 * The end (exclusive, epoch milliseconds) of the due times that the last run covers; 0 for one that was interrupted or
 * killed, which covers none. Undefined where there was no run.
 */
function servedBefore(last: LastRun | undefined): number | undefined {
  if (last === undefined) return undefined;
  return last.status === "interrupted" || last.status === "killed" ? 0 : last.startedAt + 1;
}

/** The time at which a pipeline is next due, which may be in the past: the first due time that no run has served. */
export function dueAt(state: PipelineState, isTradingDay: IsTradingDay): number | undefined {
  return nextDue(state.pipeline.schedule, state.servedUntil - 1, isTradingDay);
}

/**
 * The pipelines that are due, in the order in which they run: by due time, but reference data first, because the other
 * pipelines choose their instruments from it.
 */
export function dueStates(
  states: readonly PipelineState[],
  now: number,
  isTradingDay: IsTradingDay,
): PipelineState[] {
  return states
    .map((state) => ({ state, at: dueAt(state, isTradingDay) ?? Number.POSITIVE_INFINITY }))
    .filter(({ at }) => at <= now)
    .sort((a, b) => rank(a.state) - rank(b.state) || a.at - b.at)
    .map(({ state }) => state);
}

function rank({ pipeline }: PipelineState): number {
  return pipeline.kind === "reference" ? 0 : 1;
}

/** Why a pipeline is not healthy; undefined where it is healthy. */
export function complaintOf(
  state: PipelineState,
  now: number,
  isTradingDay: IsTradingDay,
): string | undefined {
  const { running, last } = state;
  if (last?.status === "failed" || last?.status === "refused")
    return `its last run, of ${new Date(last.startedAt).toISOString()}, ended ${last.status}`;
  const due = dueAt(state, isTradingDay);
  if (running || due === undefined || due >= now - OVERDUE_MS) return undefined;
  return `it was due at ${new Date(due).toISOString()} and has not run`;
}
