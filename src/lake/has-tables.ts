import { TABLES } from "../schema/tables.js";
import type { Lake } from "./lake.js";
import { listLog } from "./log/log-files.js";

/** Whether a lake has any table: one with a log, also a damaged one. A folder that is missing or empty has none. */
export async function hasTables({ storage }: Pick<Lake, "storage">): Promise<boolean> {
  // One after the other: nearly always the first one is there, and a store counts its requests.
  for (const { name } of TABLES) if ((await listLog(storage, name)).newest >= 0) return true;
  return false;
}
