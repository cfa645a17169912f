import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { publishIfMoved } from "../../lake/moved-lake.js";
import { paint } from "../text/text.js";

const reported = new WeakSet<Lake>();

/**
 * Says in one line that `lake.duckdb` was made for another folder, and whether it was created again; once for each lake.
 *
 * @param session reads the file. @default a small session of this process
 */
export async function reportMovedLake(lake: Lake, session?: Session): Promise<void> {
  if (reported.has(lake)) return;
  reported.add(lake);
  const found = await publishIfMoved(lake, session);
  if (found === undefined) return;
  const { from, error } = found;
  const outcome =
    error === undefined
      ? "its views were created again for this one"
      : `other DuckDB clients that open it here read that folder (${error.message})`;
  process.stderr.write(`${paint("yellow", "warning:")} lake.duckdb was made for ${from}: ${outcome}\n`);
}
