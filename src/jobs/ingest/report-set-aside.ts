import type { Run } from "../run/run.js";

/** Most symbols that a failure names. */
const NAMED = 5;

/**
 * Reports symbols of which records were set aside by earlier runs, and which are not requested again yet.
 *
 * @param what the records: statements, or factors.
 */
export function reportSetAside(run: Run, table: string, what: string, symbols: readonly string[]): void {
  if (symbols.length === 0) return;
  const named = symbols.slice(0, NAMED).join(", ") + (symbols.length > NAMED ? ", ..." : "");
  const reason = `earlier runs have set aside ${what} of ${named}; they are requested again after a wait`;
  run.log.failure({ dataset: table, request: table, reason, symbols: symbols.length });
}
