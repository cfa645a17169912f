import { availableParallelism } from "node:os";
import type { Clock } from "../../core/time.js";
import { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import { type OptimizeOptions, type OptimizeReport, optimize } from "../../lake/maintenance/optimize.js";
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
