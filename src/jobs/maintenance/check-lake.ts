import type { Lake } from "../../lake/lake.js";
import { STAGING } from "../../lake/local/work-folder.js";
import { type CheckOptions, checkTable, type TableCheck } from "../../lake/maintenance/check/check-table.js";
import type { Finding } from "../../lake/maintenance/check/finding.js";
import type { TableSchema } from "../../schema/column.js";

/** What was checked in a lake, and what was found. */
export interface CheckReport {
  /** Tables that have a log or findings. */
  readonly tables: readonly Omit<TableCheck, "findings">[];
  /** By table, in the order in which they were found. */
  readonly findings: readonly Finding[];
}

/** Checks the stored files of a lake's tables, one after another; tables not reached before the signal are left out. */
export async function checkLake(
  lake: Lake,
  tables: Iterable<TableSchema>,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const checked: Omit<TableCheck, "findings">[] = [];
  const findings: Finding[] = [];
  for (const table of tables) {
    if (options.signal?.aborted) break;
    const { findings: found, ...facts } = await checkTable(lake, table, options);
    if (facts.version >= 0 || found.length > 0) checked.push(facts);
    findings.push(...found);
  }
  findings.push(...(await stagedLeftovers(lake)));
  return { tables: checked, findings };
}

/** Files in staging: a command is running, or was stopped. */
async function stagedLeftovers(lake: Lake): Promise<Finding[]> {
  const staged = await lake.work.unfinished();
  const bytes = staged.reduce((sum, { size }) => sum + size, 0);
  if (staged.length === 0) return [];
  return [
    {
      severity: "info",
      file: STAGING,
      rule: "staged_leftover",
      message: `${STAGING} holds ${staged.length} ${staged.length === 1 ? "file" : "files"} (${bytes} bytes): a command is at work, or was stopped`,
      hint: "barlake vacuum deletes such files a day after they were written",
    },
  ];
}
