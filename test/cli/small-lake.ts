import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runImport } from "../../src/jobs/import/run-import.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { fixtureLake } from "../lake/fixture-lake.js";

/** Fills a folder with a lake that has one instrument and no bars. @returns the folder. */
export async function smallLake(folder: string): Promise<string> {
  await fixtureLake(folder, { filledBy: import.meta.url, name: "one instrument" }, async (lake) => {
    const files = mkdtempSync(join(tmpdir(), "barlake-small-lake-"));
    const file = join(files, "instruments.csv");
    writeFileSync(file, "symbol,name,type\n600519.SH,Kweichow Moutai,stock\n");
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "small-lake" } as const;
    await runImport(lake, "instruments", [file], options, virtualClock(Date.UTC(2026, 0, 2)));
    rmSync(files, { recursive: true });
  });
  return folder;
}
