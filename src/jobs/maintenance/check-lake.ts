import { BarlakeError, hintOf, messageOf } from "../../core/errors.js";
import type { Lake } from "../../lake/lake.js";
import { STAGING } from "../../lake/local/work-folder.js";
import {
  CheckFault,
  type CheckOptions,
  CheckSession,
  checkTable,
  type TableCheck,
} from "../../lake/maintenance/check/check-table.js";
import type { Finding } from "../../lake/maintenance/check/finding.js";
import type { TableSchema } from "../../schema/column.js";

export interface CheckReport {
  /** Tables that have a log or findings, or whose check ended early. */
  readonly tables: readonly Omit<TableCheck, "findings">[];
  /** In the order of the tables, and for each table in the order in which they were found. */
  readonly findings: readonly Finding[];
  /** Errors that ended the check of a table. What was found of it before is among the findings. */
  readonly errors: readonly BarlakeError[];
}

/**
 * Checks the stored files of a lake's tables, one after another. A check that fails does not affect the other tables.
 * Tables that were not reached when the signal aborted are left out.
 */
export async function checkLake(
  lake: Lake,
  tables: Iterable<TableSchema>,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const checked: Omit<TableCheck, "findings">[] = [];
  const findings: Finding[] = [];
  const errors: BarlakeError[] = [];
  const add = ({ findings: found, ...facts }: TableCheck): void => {
    if (facts.version >= 0 || found.length > 0 || !facts.complete) checked.push(facts);
    findings.push(...found);
  };
  using session = new CheckSession(lake.access);
  for (const table of tables) {
    if (options.signal?.aborted) break;
    try {
      add(await checkTable(lake, table, { ...options, session }));
    } catch (cause) {
      if (!(cause instanceof CheckFault)) throw cause;
      add(cause.found);
      errors.push(cause);
      session.discard();
    }
  }
  try {
    findings.push(...(await stagedLeftovers(lake)));
  } catch (cause) {
    errors.push(new BarlakeError(`check of ${STAGING}: ${messageOf(cause)}`, { hint: hintOf(cause), cause }));
  }
  return { tables: checked, findings, errors };
}

/** Findings for unfinished files: a command is running, or was stopped. */
async function stagedLeftovers(lake: Lake): Promise<Finding[]> {
  const staged = await lake.work.unfinished();
  const bytes = staged.reduce((sum, { size }) => sum + size, 0);
  if (staged.length === 0) return [];
  return [
    {
      severity: "info",
      file: STAGING,
      rule: "staged_leftover",
      message: `${STAGING} holds ${staged.length} ${staged.length === 1 ? "file" : "files"} (${bytes} bytes): a command is running, or was stopped`,
      hint: "barlake vacuum deletes such files a day after they were written",
    },
  ];
}
