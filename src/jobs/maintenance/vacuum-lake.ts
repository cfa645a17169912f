import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { STAGING } from "../../lake/local/work-folder.js";
import { type VacuumReport, vacuum, vacuumStaging, vacuumTime } from "../../lake/maintenance/vacuum.js";
import type { TableSchema } from "../../schema/column.js";
import { TABLES } from "../../schema/tables.js";
import { eachTable, type TableReports } from "./each-table.js";
import { type DailyWork, dailyWork, recordDone } from "./scrub-lake.js";

interface VacuumLakeOptions {
  /** Versions that were the newest at any time within this period remain readable; in milliseconds. */
  readonly retentionMs: number;
  /** Reports what would be deleted, and deletes nothing. @default false */
  readonly dryRun?: boolean;
  /** Ends the work after the current table. */
  readonly signal?: AbortSignal;
}

/**
 * Vacuums tables of a lake one after another, and what killed processes left in the staging folder where all tables were
 * named. A table whose log cannot be read is an error of the result. Tables that were not reached when the signal aborted
 * have no report.
 */
export async function vacuumLake(
  lake: Lake,
  tables: readonly TableSchema[],
  { retentionMs, dryRun = false, signal }: VacuumLakeOptions,
  clock: Pick<Clock, "now">,
): Promise<TableReports<VacuumReport>> {
  const { reports, errors } = await eachTable(tables, signal, async (table) =>
    vacuum(lake, table, { now: await vacuumTime(lake, clock), retentionMs, dryRun }),
  );
  if (tables.length < TABLES.length || signal?.aborted) return { reports, errors };
  const now = await vacuumTime(lake, clock);
  const staged = { table: STAGING, deleted: await vacuumStaging(lake, { now, dryRun }), kept: 0 };
  return { reports: [...reports, { ...staged, logEntries: 0 }], errors };
}

/** The path of the file that states when a lake was last vacuumed. */
const LAST = "verified/last-vacuum.json";

/** Vacuums a lake once a day. After a failure it is due in an hour. */
export function dailyVacuum(
  lake: Lake,
  retentionMs: number,
  clock: Pick<Clock, "now">,
): DailyWork<TableReports<VacuumReport>> {
  return dailyWork(lake, LAST, clock, async (signal) => {
    const done = await vacuumLake(lake, TABLES, { retentionMs, signal }, clock);
    if (!signal.aborted) await recordDone(lake.storage, LAST, clock.now());
    return done;
  });
}
