import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { TABLES } from "../../../src/schema/tables.js";

const isCheckpoint = (name: string): boolean => name.includes(".checkpoint.") || name === "_last_checkpoint";

/** A copy of a lake whose logs are commits alone. */
export function commitsAlone(lake: Lake, folder: string): Lake {
  return copyOf(lake, folder, isCheckpoint);
}

/**
 * A copy of a lake that can be read from checkpoints alone: of each log the commits before its newest checkpoint are
 * gone. A table that was too young for one has been given one at its newest version.
 */
export async function checkpointsAlone(lake: Lake, folder: string, now: number): Promise<Lake> {
  const copy = copyOf(lake, folder, () => false);
  for (const table of TABLES) {
    const log = logOf(copy, table.name);
    if (!readdirSync(log).some(isCheckpoint)) {
      await writeCheckpoint(copy, await copy.snapshot(table), now);
    }
    const names = readdirSync(log).sort();
    const newest = names.findLast((name) => name.endsWith(".checkpoint.parquet")) as string;
    for (const name of names)
      if (/^\d+\.json$/.test(name) && name < newest.slice(0, 20)) rmSync(join(log, name));
  }
  return new Lake(folder);
}

/** The version of a table's newest checkpoint. */
export function newestCheckpoint(lake: Lake, table: string): number {
  return Math.max(
    ...readdirSync(logOf(lake, table))
      .filter((name) => name.includes(".checkpoint."))
      .map((name) => Number(name.slice(0, 20))),
  );
}

function logOf(lake: Lake, table: string): string {
  return join(lake.location, table, "_delta_log");
}

function copyOf(lake: Lake, folder: string, without: (name: string) => boolean): Lake {
  cpSync(lake.location, folder, {
    recursive: true,
    filter: (source) => !without(source.split("/").at(-1) as string),
  });
  return new Lake(folder);
}
