import { LakeError } from "../../../core/errors.js";
import { DAY_MS } from "../../../core/time.js";
import { TABLES } from "../../../schema/tables.js";
import type { Lake } from "../../lake.js";
import { effectiveHistory, type HistoryEntry } from "../../log/history.js";
import { changesRows, type RestoreReport } from "./restore-table.js";

/** Longest time between the first and the last commit of a run. */
const RUN_MS = DAY_MS;

/** What the runs of undone commits have changed in another table, and what is still there. */
export interface RelatedChange {
  readonly table: string;
  /** Newest first. */
  readonly commits: readonly HistoryEntry[];
}

/** What undone commits leave in the tables that were not restored. */
export interface RelatedChanges {
  readonly changes: readonly RelatedChange[];
  /** The time to which the whole lake can be restored, so that these changes are undone, too; epoch milliseconds. */
  readonly asOf: number | undefined;
}

/**
 * Finds what the runs whose commits were undone have changed in other tables, such as the trading days that follow from
 * bars, and the ledger. Only the commits since then are read.
 *
 * @param restoredAt when the version that was restored was committed, in epoch milliseconds. The time of the result is
 *   not before it.
 */
export async function relatedChanges(
  { storage }: Lake,
  reports: readonly RestoreReport[],
  restoredAt: number = Number.NEGATIVE_INFINITY,
): Promise<RelatedChanges> {
  const undone = reports.flatMap((report) => report.undone);
  const runs = new Set(undone.flatMap(({ runId }) => runId ?? []));
  const since = Math.min(...undone.flatMap(({ committedAt }) => committedAt ?? []));
  if (runs.size === 0 || !Number.isFinite(since)) return { changes: [], asOf: undefined };
  const restored = new Set(reports.map(({ table }) => table));
  const changes: RelatedChange[] = [];
  for (const table of TABLES) {
    if (restored.has(table.name)) continue;
    const commits: HistoryEntry[] = [];
    try {
      for await (const entry of effectiveHistory(storage, table, Number.POSITIVE_INFINITY)) {
        if ((entry.committedAt ?? since) < since - RUN_MS) break;
        if (changesRows(entry) && entry.runId !== undefined && runs.has(entry.runId)) commits.push(entry);
      }
    } catch (error) {
      // What cannot be read of another table's log says nothing about the tables that were restored.
      if (!(error instanceof LakeError)) throw error;
    }
    if (commits.length > 0) changes.push({ table: table.name, commits });
  }
  if (changes.length === 0) return { changes, asOf: undefined };
  const times = [...undone, ...changes.flatMap(({ commits }) => commits)].flatMap(
    ({ committedAt }) => committedAt ?? [],
  );
  return { changes, asOf: Math.max(restoredAt, Math.min(...times) - 1) };
}
