import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/client/system-clock.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import type { Lake } from "../../src/lake/lake.js";
import { fixtureLake } from "./fixture-lake.js";
import { temporaryFolder } from "./temporary-lake.js";

/** Weekdays of a lake of {@link renamedLake}: Monday, 30 May, to Friday, 17 June 2022. */
export const DAYS = Array.from({ length: 19 }, (_, i) =>
  new Date(Date.UTC(2022, 4, 30 + i)).toISOString().slice(0, 10),
).filter((day) => ![0, 6].includes(new Date(day).getUTCDay()));

/** The closes of {@link DAYS}: 100, 101 and so on, halved by a split on 13 June. */
export const CLOSES = DAYS.map((day, i) => (day < "2022-06-13" ? 100 + i : (100 + i) / 2));

/** A lake with bars of FB.US until 8 June 2022 and of META.US since, of OTHER.US, and the rename. */
export async function renamedLake(changes = "FB.US,2022-06-09,rename,META.US\n"): Promise<Lake> {
  const folder = temporaryFolder();
  const row = (symbol: string, i: number): string => {
    const close = CLOSES[i] as number;
    const last = i === 0 ? close : DAYS[i] === "2022-06-13" ? (CLOSES[i - 1] as number) / 2 : CLOSES[i - 1];
    return `${symbol},${DAYS[i]},${close},${close},${close},${close},1000,${last}\n`;
  };
  const rows = DAYS.map((day, i) => row(day < "2022-06-09" ? "FB.US" : "META.US", i) + row("OTHER.US", i));
  const bars = join(folder, "bars.csv");
  writeFileSync(bars, `symbol,date,open,high,low,close,volume,prev_close\n${rows.join("")}`);
  const fixture = { filledBy: import.meta.url, name: changes };
  return fixtureLake(join(folder, "lake"), fixture, async (lake) => {
    await runImport(lake, "bars_1d", [bars], { runId: "test" }, systemClock);
    if (changes !== "") await importChanges(lake, changes);
  });
}

/** Adds the rename to a lake without it. */
export async function addRename(lake: Lake): Promise<Lake> {
  await importChanges(lake, "FB.US,2022-06-09,rename,META.US\n");
  return lake;
}

async function importChanges(lake: Lake, changes: string): Promise<void> {
  const file = join(temporaryFolder(), "changes.csv");
  writeFileSync(file, `symbol,from_date,kind,new_symbol\n${changes}`);
  await runImport(lake, "symbol_changes", [file], { runId: "test" }, systemClock);
}
