import { LakeError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import {
  isSettled,
  planRestore,
  type RelatedChanges,
  type RestorePlan,
  type RestoreReport,
  type RestoreTarget,
  relatedChanges,
  restoreReport,
  restoreTable,
  verifyRestored,
} from "../../lake/maintenance/restore-table.js";
import { leasedRuns } from "../../lake/requests/run-lease.js";
import { nameOfOwner } from "../../lease/owner.js";
import type { TableSchema } from "../../schema/column.js";
import { REQUESTS } from "../../schema/runs.js";
import { TABLES } from "../../schema/tables.js";
import { newRunId } from "../run/run-pipeline.js";
import { eachTable, publishAfter, type TableReports } from "./each-table.js";

/** How a lake is restored. */
export interface RestoreLakeOptions {
  /** @default every table */
  readonly tables?: readonly TableSchema[];
  /** Says what would be done, and changes nothing. @default false */
  readonly dryRun?: boolean;
  /** Ends the work before the next table, or within the verification of a file. */
  readonly signal?: AbortSignal;
  /** @default the lake's clock */
  readonly clock?: Clock;
}

/** What a restore did to a lake. Tables that it did not reach have no report. */
export interface RestoredLake extends TableReports<RestoreReport> {
  /** What the undone runs have changed in other tables, and what is still there. */
  readonly related: RelatedChanges;
}

/**
 * Gives tables the rows again that they had at a version or a time: each in one new commit, after which `lake.duckdb` is
 * written again. First all tables are planned and their files verified, so that a table that cannot be restored is an
 * error before any is changed. A restore that was stopped is completed by the same call again.
 *
 * The ledger is a table, too: once it is restored, runs ask again for what its later responses had brought.
 *
 * @throws {LakeError} where a run is working on the lake, and for a version that does not exist, or of which files are
 *   gone or damaged. Then nothing was changed.
 */
export async function restoreLake(
  lake: Lake,
  target: RestoreTarget,
  { tables = TABLES, dryRun = false, signal, clock = lake.clock }: RestoreLakeOptions = {},
): Promise<RestoredLake> {
  if (!dryRun) await expectNoRun(lake);
  const plans: RestorePlan[] = [];
  for (const table of tables) {
    signal?.throwIfAborted();
    const base = await lake.snapshot(table);
    // A lake without the table was the same then.
    if (base.version < 0 && target.kind !== "version") continue;
    const plan = await planRestore(lake, base, target);
    if (!dryRun) await verifyRestored(lake, plan, signal);
    plans.push(plan);
  }
  const ordered = inSafeOrder(plans);
  const runId = newRunId(clock.now());
  const done = await eachTable(
    ordered.map(({ base }) => base.table),
    signal,
    async (table) =>
      dryRun
        ? restoreReport(lake, ordered.find(({ base }) => base.table === table) as RestorePlan)
        : restoreTable(lake, table, target, { runId, clock, signal }),
  );
  // A restore that was killed between its commit and this has nothing left to do, and still its views are written.
  const published = dryRun ? done : await publishAfter(lake, done, () => true);
  const [only, ...others] = ordered;
  const restoredAt = others.length === 0 ? only?.target.committedAt : undefined;
  return { ...published, related: await relatedChanges(lake, published.reports, restoredAt) };
}

/**
 * The order in which a restore that is killed leaves no response recorded whose rows are not in the lake: the ledger
 * first where it forgets responses, and last where it gets them back.
 */
function inSafeOrder(plans: readonly RestorePlan[]): readonly RestorePlan[] {
  const ledger = plans.find(({ base }) => base.table === REQUESTS);
  if (ledger === undefined || isSettled(ledger)) return plans;
  const rows = (files: RestorePlan["added"]): number =>
    files.reduce((sum, { stats }) => sum + (stats?.numRecords ?? 0), 0);
  const others = plans.filter((plan) => plan !== ledger);
  return rows(ledger.added) > rows(ledger.removed) ? [...others, ledger] : [ledger, ...others];
}

/** @throws {LakeError} where a run has requested something that the ledger does not have yet. */
async function expectNoRun(lake: Lake): Promise<void> {
  const [first] = await leasedRuns(lake);
  if (first === undefined) return;
  const [runId, owner] = first;
  throw new LakeError(`lake ${lake.location}: run ${runId} is working on it (${nameOfOwner(owner)})`, {
    hint: "stop it, or wait for it to end, and restore then: it would record responses whose rows are no longer there",
  });
}
