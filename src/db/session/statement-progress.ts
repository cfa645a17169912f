import type { DuckDBConnection } from "@duckdb/node-api";
import type { StatementProgress } from "../query-engine.js";

/** Statements that make DuckDB count how far the later ones of a session are. It prints nothing. */
export const TRACK_PROGRESS = ["SET enable_progress_bar = true", "SET enable_progress_bar_print = false"];

/** How far the running statement is; undefined where DuckDB does not know it. */
export function statementProgress({ progress }: DuckDBConnection): StatementProgress | undefined {
  const { percentage, rows_processed } = progress;
  return percentage < 0 ? undefined : { percentage, rows: Number(rows_processed) };
}
