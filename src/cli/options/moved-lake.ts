import type { Lake } from "../../lake/lake.js";
import { publishIfMoved } from "../../lake/moved-lake.js";
import { paint } from "../text/text.js";

/** Says in one line that `lake.duckdb` was made for another folder, and whether it was created again. */
export async function reportMovedLake(lake: Lake): Promise<void> {
  const found = await publishIfMoved(lake);
  if (found === undefined) return;
  const { from, error } = found;
  const outcome =
    error === undefined
      ? "its views were created again for this one"
      : `other DuckDB clients that open it here read that folder (${error.message})`;
  process.stderr.write(`${paint("yellow", "warning:")} lake.duckdb was made for ${from}: ${outcome}\n`);
}
