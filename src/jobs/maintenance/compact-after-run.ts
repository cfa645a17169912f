import { messageOf } from "../../core/errors.js";
import { type Clock, MINUTE_MS, ticksOf } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { landedFiles, type OptimizeOptions } from "../../lake/maintenance/optimize.js";
import type { TableSchema } from "../../schema/column.js";
import { optimizeLake } from "./optimize-lake.js";

/** Most files that landings may leave in a table before a run compacts it. */
export const MOST_LANDED_FILES = 32;
/** After this time, in milliseconds, no further partition is begun: the next run goes on. */
const LONGEST_MS = 2 * MINUTE_MS;

/** What was compacted after a run. */
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
