import type { Lake } from "../../lake/lake.js";
import { publish } from "../../lake/publish.js";
import type { TableSchema } from "../../schema/column.js";

export interface TableReports<Report> {
  /** The results of the tables whose work succeeded, or changed something before it failed; in the order of the tables. */
  readonly reports: readonly Report[];
  /** Errors that ended the work on a table, in the order of the tables. */
  readonly errors: readonly unknown[];
}

/**
 * Works on tables one after another. An error ends the work on its table and does not affect the others. Tables that
 * were not reached, or not finished, when the signal aborted, and tables for which the work returns no report, are left out.
 *
 * @param work works on a table. It calls `fail` with the error that ended the work where it returns a report all the same.
 */
export async function eachTable<Report>(
  tables: Iterable<TableSchema>,
  signal: AbortSignal | undefined,
  work: (table: TableSchema, fail: (error: unknown) => void) => Promise<Report | undefined>,
): Promise<TableReports<Report>> {
  const reports: Report[] = [];
  const errors: unknown[] = [];
  for (const table of tables) {
    if (signal?.aborted) break;
    try {
      const report = await work(table, (error) => errors.push(error));
      if (report !== undefined) reports.push(report);
    } catch (error) {
      if (signal?.aborted && error === signal.reason) break;
      errors.push(error);
    }
  }
  return { reports, errors };
}

/** Creates the views again if a table was changed. If that fails, its error is the last error of the result. */
export async function publishAfter<Report>(
  lake: Lake,
  { reports, errors }: TableReports<Report>,
  isChanged: (report: Report) => boolean,
): Promise<TableReports<Report>> {
  if (!reports.some(isChanged)) return { reports, errors };
  try {
    await publish(lake);
    return { reports, errors };
  } catch (error) {
    return { reports, errors: [...errors, error] };
  }
}
