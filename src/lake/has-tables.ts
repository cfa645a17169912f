import { TABLES } from "../schema/tables.js";
import type { Lake } from "./lake.js";
import { listLog } from "./log/log-files.js";

/**
 * Whether a lake has at least one table: a folder with a log, even a damaged one. A missing or empty folder has none.
 */
export async function hasTables({ storage }: Pick<Lake, "storage">): Promise<boolean> {
  // The logs are listed one after the other: nearly every lake has the first table, and each list costs a request to a
  // store.
  for (const { name } of TABLES) if ((await listLog(storage, name)).newest >= 0) return true;
  return false;
}
