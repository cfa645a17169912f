import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "./actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M, TRADING_DAYS } from "./bars.js";
import type { TableSchema } from "./column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "./reference.js";
import { REQUESTS, RUNS } from "./runs.js";
import { STATEMENT_NAMES, STATEMENTS } from "./statements.js";

/** Every table of a lake. */
export const TABLES = [
  BARS_1D,
  BARS_1M,
  INSTRUMENTS,
  EXCHANGES,
  UNIVERSES,
  UNIVERSE_MEMBERS,
  TRADING_DAYS,
  ABSENCES_1D,
  ...STATEMENT_NAMES.map((name) => STATEMENTS[name]),
  CORPORATE_ACTIONS,
  EX_FACTORS,
  SYMBOL_CHANGES,
  REQUESTS,
  RUNS,
] as const satisfies readonly TableSchema[];

export function tableNamed(name: string): TableSchema | undefined {
  return TABLES.find((table) => table.name === name);
}
