import { BarlakeError, messageOf } from "../../../core/errors.js";
import { type Clock, ticksOf } from "../../../core/time.js";
import type { RunReport } from "../run-pipeline.js";

/** How a run ended, for monitoring. It also exists for a run that could not begin. */
export interface RunOutcome
  extends Pick<
    RunReport,
    | "pipeline"
    | "status"
    | "stopped"
    | "requests"
    | "rows"
    | "bytes"
    | "failures"
    | "landed"
    | "completeness"
    | "files"
    | "compaction"
  > {
  /** Undefined where the run could not begin. */
  readonly runId: string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** A run that has ended, with its report or with the error that it threw. */
export type SettledRun = { readonly outcome: RunOutcome } & (
  | { readonly kind: "reported"; readonly report: RunReport }
  | { readonly kind: "threw"; readonly error: unknown }
);

/**
 * Runs a pipeline and never throws: an error of the run, such as a lake without instruments or an unreadable lake, is
 * part of the result.
 */
export async function settleRun(
  pipeline: string,
  clock: Pick<Clock, "now" | "monotonic">,
  run: () => Promise<RunReport>,
): Promise<SettledRun> {
  const startedAt = clock.now();
  const startedTicks = ticksOf(clock);
  // The clock may be set during the run, so the end is computed from the start and the measured duration.
  const finishedAt = (): number => startedAt + Math.round(ticksOf(clock) - startedTicks);
  try {
    const report = await run();
    return { kind: "reported", outcome: { ...report, startedAt, finishedAt: finishedAt() }, report };
  } catch (error) {
    const hint = error instanceof BarlakeError ? error.hint : undefined;
    const outcome: RunOutcome = {
      pipeline,
      runId: undefined,
      // A wait of the run, for example for a key, was ended from outside.
      status: error instanceof Error && error.name === "AbortError" ? "interrupted" : "failed",
      stopped: hint === undefined ? messageOf(error) : `${messageOf(error)}; ${hint}`,
      requests: { planned: 0, sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 },
      rows: 0,
      bytes: 0,
      failures: [],
      landed: [],
      completeness: [],
      startedAt,
      finishedAt: finishedAt(),
    };
    return { kind: "threw", outcome, error };
  }
}
