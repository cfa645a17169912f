import { BarlakeError, messageOf } from "../../core/errors.js";
import type { ReferenceChange } from "../../lake/land/reference-changes.js";
import { isLoss, type RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import type { RunStatus } from "../../schema/runs.js";
import type { TableCompleteness } from "./completeness.js";
import type { Failure } from "./request-records.js";
import type { Run } from "./run.js";
import type { Returned } from "./symbol-tally.js";

/** Requests of a run, by their result. */
export interface RequestCounts {
  readonly sent: number;
  /** With rows, and without any. */
  readonly answered: number;
  readonly empty: number;
  /** The service refused them; they failed on the way, or the response was not valid. */
  readonly refused: number;
  readonly failed: number;
}

/** What a run requested, received, landed and left out. */
export interface RunReport {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly requests: RequestCounts & { readonly planned: number };
  readonly rows: number;
  readonly bytes: number;
  readonly durationMs: number;
  /**
   * By how many milliseconds the machine's clock was set during the run, below 0 for back; undefined: it was not set.
   */
  readonly clockShiftMs: number | undefined;
  readonly landed: readonly LandReport[];
  /** Changes of reference data and statements since the earlier snapshots. */
  readonly changes: readonly ReferenceChange[];
  readonly rejected: readonly RejectCount[];
  readonly failures: readonly Failure[];
  /** Requested and returned symbols, by table. */
  readonly symbols: readonly Returned[];
  /** What was requested of each table of bars, and what is absent, unexplained or set aside. */
  readonly completeness: readonly TableCompleteness[];
  /** Why the run stopped before its end; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** The report of a run. @param failed the error that ended it, if any. */
export function reportOf(run: Run, failed: unknown): RunReport {
  const { answered, empty, refused } = run.requests;
  const completeness = run.completeness.tables();
  const lacks =
    run.rejects.some(isLoss) || completeness.some((one) => one.unexplained.length + one.setAside.length > 0);
  const bad = run.failures.length > 0 || run.stopped !== undefined || lacks;
  let status: RunStatus = bad ? "partial" : "complete";
  if (bad && !lacks && answered + empty === 0) status = refused > run.healed ? "refused" : "failed";
  if (failed !== undefined) status = "failed";
  if (run.signal.aborted) status = "interrupted";
  return {
    runId: run.runId,
    pipeline: run.pipeline,
    status,
    requests: { planned: run.progress.planned, ...run.requests },
    rows: run.rows,
    bytes: run.bytes,
    durationMs: run.elapsedMs,
    clockShiftMs: run.clockShiftMs,
    landed: totals(run.landed),
    changes: run.changes,
    rejected: run.rejects,
    failures: run.failures,
    symbols: run.symbols.counts(),
    completeness,
    stopped: failed === undefined ? (run.stopped ?? refusals(run)) : reasonOf(failed),
  };
}

/** Why datasets were left out, where the key does not permit them. */
function refusals({ refused }: Run): string | undefined {
  if (refused.size === 0) return undefined;
  return [...refused].map(([dataset, reason]) => `${dataset}: ${reason}`).join("; ");
}

function reasonOf(error: unknown): string {
  const hint = error instanceof BarlakeError ? error.hint : undefined;
  return hint === undefined ? messageOf(error) : `${messageOf(error)}; ${hint}`;
}

/** One line per table, however many landings it took. */
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
