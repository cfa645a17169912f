import { join } from "node:path";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D } from "../../src/schema/bars.js";
import type { Size } from "../measure/benchmark.js";
import { writeDays, writeReference } from "./market-lake.js";

/** A lake with its `lake.duckdb`: two years of daily bars, and reference data. @param folder it is made below. */
export async function twoYearsLake(
  folder: string,
  size: Size,
): Promise<{ readonly lake: Lake; readonly summary: string }> {
  const lake = new Lake(join(folder, "lake"));
  const symbols = size === "full" ? 1000 : 40;
  {
    using session = await Session.open({ spillUnder: folder });
    await writeDays(session, lake, { symbols, years: [2024, 2025], end: "2026-01-01" });
    await writeReference(session, lake, symbols);
  }
  await publish(lake);
  return { lake, summary: `${rowCount(await lake.snapshot(BARS_1D))} daily bars of ${symbols} symbols` };
}
