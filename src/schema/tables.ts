import { ABSENCES_1D } from "./absences.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "./actions.js";
import { BARS_1D, BARS_1M } from "./bars.js";
import type { TableSchema } from "./column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "./reference.js";
import { REQUESTS } from "./requests.js";
import { RUNS } from "./runs.js";
import { STATEMENT_NAMES, STATEMENTS } from "./statements.js";
import { TRADING_DAYS } from "./trading-days.js";

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

/** The table of that name, or undefined. */
export function tableNamed(name: string): TableSchema | undefined {
  return TABLES.find((table) => table.name === name);
}
