import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../client/system-clock.js";
import { runImport } from "../../jobs/import/run-import.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import type { Lake } from "../../lake/lake.js";
import { SIMULATED } from "../../sim/fill-lake.js";
import type { ActionVersion } from "../../sim/market.js";

/** The columns of a file of actions. */
const COLUMNS = [
  "symbol",
  "ex_date",
  "kind",
  "cash",
  "ratio",
  "price",
  "currency",
  "announce_date",
  "record_date",
  "pay_date",
] as const satisfies readonly (keyof ActionVersion)[];

/** How many actions were announced, and how many of them were corrected later. */
export interface ImportedActions {
  readonly announced: number;
  readonly corrected: number;
}

/**
 * Imports corporate actions as `barlake import corporate_actions` does: a file of what was announced, and one of what was
 * corrected since.
 *
 * @param versions those of one action follow one another, oldest first.
 */
export async function importActions(
  lake: Lake,
  versions: readonly ActionVersion[],
  signal: AbortSignal,
): Promise<ImportedActions> {
  const isCorrection = ({ symbol, ex_date, kind }: ActionVersion, index: number): boolean => {
    const before = versions[index - 1];
    return before?.symbol === symbol && before.ex_date === ex_date && before.kind === kind;
  };
  const corrections = versions.filter(isCorrection);
  const announced = versions.filter((version, index) => !isCorrection(version, index));
  const folder = await mkdtemp(join(tmpdir(), "barlake-demo-"));
  try {
    for (const [name, rows] of [
      ["announced.csv", announced],
      ["corrections.csv", corrections],
    ] as const) {
      if (rows.length === 0) continue;
      const file = join(folder, name);
      await writeFile(file, csvOf(rows));
      const run = { runId: newRunId(systemClock.now()), source: SIMULATED, signal };
      await runImport(lake, "corporate_actions", [file], run, systemClock);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { announced: announced.length, corrected: corrections.length };
}

function csvOf(rows: readonly ActionVersion[]): string {
  const lines = rows.map((row) => COLUMNS.map((name) => row[name] ?? "").join(","));
  return `${[COLUMNS.join(","), ...lines].join("\n")}\n`;
}
