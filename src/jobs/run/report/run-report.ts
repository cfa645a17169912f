import { hintOf, messageOf } from "../../../core/errors.js";
import { isLoss } from "../../../lake/land/rejects.js";
import type { LandReport } from "../../../lake/land/upsert.js";
import type { RunStatus } from "../../../schema/runs.js";
import type { FilesReport } from "../../files/plan-files.js";
import type { Compaction } from "../../maintenance/optimize-lake.js";
import { clockShiftMs, elapsedMs, type RunContext } from "../run-context.js";
import type { RequestCounts, RunFacts } from "../run-log.js";

/** What a run requested, received, landed and left out. */
export interface RunReport
  extends Pick<
    RunFacts,
    "rows" | "bytes" | "landed" | "changes" | "lists" | "rejected" | "failures" | "symbols" | "completeness"
  > {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly requests: RequestCounts & { readonly planned: number };
  readonly durationMs: number;
  /**
   * By how many milliseconds the machine's clock was set during the run, negative for a step back; undefined where it
   * was not set.
   */
  readonly clockShiftMs: number | undefined;
  /**
   * By how many milliseconds this machine's clock is ahead of the service's clock. Data after the service's time was
   * left to later runs. Undefined where the clock is not ahead.
   */
  readonly clockAheadMs: number | undefined;
  /**
   * Datasets that the service does not offer to the key, although it offers similar ones, with the reason. They are not
   * failures.
   */
  readonly notOffered: readonly { readonly dataset: string; readonly reason: string }[];
  /** Why the run stopped before its end; undefined where it did not stop early. */
  readonly stopped: string | undefined;
  /** What a run of a pipeline of files did with each; undefined for other kinds. */
  readonly files?: FilesReport | undefined;
  /** The compaction of tables with many small files, after the run; undefined where there were none. */
  readonly compaction?: Compaction;
}

/**
 * @param planned number of requests that the run has sent, or planned to send.
 * @param failed the error that ended the run, if any.
 */
export function reportOf(
  context: Pick<
    RunContext,
    "runId" | "pipeline" | "signal" | "clock" | "clockAheadMs" | "startedAt" | "startedTicks"
  >,
  facts: RunFacts,
  planned: number,
  failed: unknown,
): RunReport {
  return {
    runId: context.runId,
    pipeline: context.pipeline,
    status: statusOf(facts, failed, context.signal.aborted),
    requests: { planned, ...facts.requests },
    rows: facts.rows,
    bytes: facts.bytes,
    durationMs: elapsedMs(context),
    clockShiftMs: clockShiftMs(context),
    clockAheadMs: context.clockAheadMs,
    landed: totals(facts.landed),
    changes: facts.changes,
    lists: facts.lists,
    rejected: facts.rejected,
    failures: facts.failures,
    symbols: facts.symbols,
    completeness: facts.completeness,
    notOffered: [...facts.notOffered].map(([dataset, reason]) => ({ dataset, reason })),
    stopped: failed === undefined ? (facts.stopped ?? refusals(facts)) : reasonOf(failed),
  };
}

function statusOf(facts: RunFacts, failed: unknown, isInterrupted: boolean): RunStatus {
  if (isInterrupted) return "interrupted";
  if (failed !== undefined) return "failed";
  const { sent, answered, empty, refused } = facts.requests;
  const lacks =
    facts.rejected.some(isLoss) ||
    facts.completeness.some((one) => one.unexplained.length + one.setAside.length > 0);
  if (lacks) return "partial";
  if (facts.failures.length === 0 && facts.stopped === undefined && facts.forbidden.size === 0)
    return "complete";
  if (answered + empty > 0) return "partial";
  // It requested nothing because nothing was due: only the demand, or an earlier response, has a fault.
  if (sent === 0 && facts.stopped === undefined && facts.forbidden.size === 0) return "partial";
  return refused > facts.healed || facts.forbidden.size > 0 ? "refused" : "failed";
}

/** The reasons why datasets were left out because the key does not permit them. */
function refusals({ forbidden }: RunFacts): string | undefined {
  if (forbidden.size === 0) return undefined;
  return [...forbidden].map(([dataset, reason]) => `${dataset}: ${reason}`).join("; ");
}

export function reasonOf(error: unknown): string {
  const hint = hintOf(error);
  return hint === undefined ? messageOf(error) : `${messageOf(error)}; ${hint}`;
}

/** One report for each table, with the totals of its landings. */
function totals(landed: readonly LandReport[]): LandReport[] {
  const tables = new Map<string, LandReport>();
  for (const one of landed) {
    const sum = tables.get(one.table);
    tables.set(
      one.table,
      sum === undefined
        ? one
        : {
            table: one.table,
            inserted: sum.inserted + one.inserted,
            updated: sum.updated + one.updated,
            unchanged: sum.unchanged + one.unchanged,
            sample: sum.sample.length > 0 ? sum.sample : one.sample,
            filesAdded: sum.filesAdded + one.filesAdded,
            version: one.version,
          },
    );
  }
  return [...tables.values()];
}
