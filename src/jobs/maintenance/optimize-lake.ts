import { availableParallelism } from "node:os";
import { messageOf } from "../../core/errors.js";
import { type Clock, MINUTE_MS, ticksOf } from "../../core/time.js";
import { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import {
  landedFiles,
  type OptimizeOptions,
  type OptimizeReport,
  optimize,
} from "../../lake/maintenance/optimize.js";
import type { TableSchema } from "../../schema/column.js";
import { eachTable, publishAfter, type TableReports } from "./each-table.js";

/**
 * Most memory that DuckDB may use, in megabytes. A larger sort spills to disk. Without this limit a sort takes as much
 * memory as the rows of a group of files; the resulting files are the same. DuckDB needs about 125 MB for each of its
 * threads.
 */
const MEMORY_MB = Math.min(4096, Math.max(512, 128 * availableParallelism()));

/**
 * Compacts tables of a lake one after another, and creates the views again where files changed. Tables without a
 * commit, and tables that were not reached when the signal aborted, have no report. A table whose log cannot be read,
 * or whose files do not agree with the log, is an error of the result; the others are compacted.
 */
export async function optimizeLake(
  lake: Lake,
  tables: Iterable<TableSchema>,
  options: OptimizeOptions,
  clock: Clock,
): Promise<TableReports<OptimizeReport>> {
  const compacted = await eachTable(tables, options.signal, async (table) => {
    if ((await lake.snapshot(table)).version < 0) return undefined;
    using session = await Session.open({
      ...writerSpillOptions(lake.work),
      memoryLimit: `${MEMORY_MB}MB`,
      ...lake.access,
    });
    return await optimize(session, lake, table, options, clock);
  });
  return publishAfter(lake, compacted, ({ partitions }) => partitions > 0);
}

/** Most files that landings may leave in a table before a run compacts it. */
export const MOST_LANDED_FILES = 32;
/** After this time, in milliseconds, no further partition is begun: the next run goes on. */
const LONGEST_MS = 2 * MINUTE_MS;

export interface Compaction {
  readonly tables: readonly {
    readonly table: string;
    readonly filesBefore: number;
    readonly filesAfter: number;
  }[];
  /** Why tables, or partitions of them, remain as they were: one sentence each. The tables are as readable as before. */
  readonly faults: readonly string[];
}

/**
 * Compacts those tables in which landings have left more than {@link MOST_LANDED_FILES} files, for about two minutes: it ends
 * between two partitions, and those with most files come first. It never throws, as what a run has landed does not depend on it.
 *
 * @returns undefined where there was nothing to do.
 */
export async function compactAfterRun(
  lake: Lake,
  tables: readonly TableSchema[],
  clock: Clock,
  options: Pick<OptimizeOptions, "runId" | "signal" | "onProgress">,
): Promise<Compaction | undefined> {
  const due: TableSchema[] = [];
  // A table that cannot be read is reported by its compaction.
  for (const table of tables)
    if ((await landedIn(lake, table).catch(() => Number.POSITIVE_INFINITY)) > MOST_LANDED_FILES)
      due.push(table);
  if (due.length === 0) return undefined;
  const startedTicks = ticksOf(clock);
  const mayGoOn = (): boolean => ticksOf(clock) - startedTicks < LONGEST_MS;
  const { reports, errors } = await optimizeLake(lake, due, { ...options, mayGoOn }, clock);
  const skipped = reports.flatMap(({ table, skipped: left }) =>
    left.map((partition) => `table ${table}, ${partition}: other writers replaced its files again and again`),
  );
  return {
    tables: reports
      .filter(({ partitions }) => partitions > 0)
      .map(({ table, filesBefore, filesAfter }) => ({ table, filesBefore, filesAfter })),
    faults: [...skipped, ...errors.map(messageOf)],
  };
}

async function landedIn(lake: Lake, table: TableSchema): Promise<number> {
  return landedFiles(await lake.snapshot(table));
}
