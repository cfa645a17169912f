import { availableParallelism } from "node:os";
import type { Clock } from "../../core/time.js";
import { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { type OptimizeOptions, type OptimizeReport, optimize } from "../../lake/maintenance/optimize.js";
import { publish } from "../../lake/publish.js";
import type { TableSchema } from "../../schema/column.js";

/**
 * Most memory that DuckDB may use, in megabytes: beyond it a sort spills. Without it a sort takes as much as the rows of
 * a group of files, and the files are the same. DuckDB needs about 125 MB for each of its threads.
 */
const MEMORY_MB = Math.min(4096, Math.max(512, 128 * availableParallelism()));

/**
 * Compacts tables of a lake one after another, and creates the views again where files changed. Tables without a
 * commit, and tables not reached before the signal, have no report.
 *
 * @throws {LakeError} when a table's files and log disagree; earlier compactions stay.
 */
export async function optimizeLake(
  lake: Lake,
  tables: Iterable<TableSchema>,
  options: OptimizeOptions,
  clock: Clock,
): Promise<OptimizeReport[]> {
  const existing: TableSchema[] = [];
  for (const table of tables) if ((await lake.snapshot(table)).version >= 0) existing.push(table);
  if (existing.length === 0) return [];
  const reports: OptimizeReport[] = [];
  try {
    using session = await Session.open({
      spillUnder: lake.work.staging,
      memoryLimit: `${MEMORY_MB}MB`,
      ...lake.access,
    });
    for (const table of existing) {
      if (options.signal?.aborted) break;
      reports.push(await optimize(session, lake, table, options, clock));
    }
  } finally {
    if (reports.some((report) => report.partitions > 0)) await publish(lake);
  }
  return reports;
}
