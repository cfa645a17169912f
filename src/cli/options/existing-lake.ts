import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { UsageError } from "../../core/errors.js";
import { hasTables } from "../../lake/has-tables.js";
import { Lake, type LakeOptions } from "../../lake/lake.js";
import { type CommonOptions, openLake } from "./lake-option.js";

/** Most lakes that a hint names. */
const MOST_NAMED = 3;
/** Depth below the working directory to which lakes are searched for: `data/demo/lake` is at 3. */
const DEPTH = 3;
/** Folders that are opened at most, so that the hint comes at once also in a large directory. */
const MOST_FOLDERS = 200;

/**
 * The lake that the options name, for a command that reads it.
 *
 * @throws {UsageError} where there is no table: the folder is missing, empty or mistyped. Nothing is created.
 */
export async function openExistingLake(
  options: CommonOptions,
  extra: Pick<LakeOptions, "patience"> = {},
): Promise<Lake> {
  const lake = openLake(options, extra);
  if (await hasTables(lake)) return lake;
  throw new UsageError(`lake ${options.lake}: ${await reasonOf(lake, options.lake)}`, {
    hint: await hintOf(),
  });
}

async function reasonOf({ location, storage }: Lake, given: string): Promise<string> {
  if (storage.access !== undefined) return "there is no table under this prefix";
  const facts = statSync(location, { throwIfNoEntry: false });
  const where = location === given ? "" : ` (${location})`;
  if (facts === undefined) return `there is no such folder${where}`;
  return `there is no table in it${where}`;
}

async function hintOf(): Promise<string> {
  const found = await lakesBelow(".");
  const others = found.length === 0 ? "" : `lakes here: ${found.map((one) => `--lake ${one}`).join(", ")}; `;
  return `${others}a new one begins with barlake demo, barlake import, or barlake run reference`;
}

/** Lakes below a folder, the nearest first. */
async function lakesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  let level = [folder];
  let opened = 0;
  for (let depth = 0; depth <= DEPTH && found.length < MOST_NAMED; depth++) {
    const next: string[] = [];
    for (const one of level) {
      if (++opened > MOST_FOLDERS || found.length === MOST_NAMED) return found;
      if (await isLake(one)) found.push(relative(".", one) || ".");
      else next.push(...foldersIn(one));
    }
    level = next;
  }
  return found;
}

async function isLake(folder: string): Promise<boolean> {
  return hasTables(new Lake(folder)).catch(() => false);
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^(\.|node_modules$)/.test(entry.name))
      .map(({ name }) => join(folder, name))
      .sort();
  } catch {
    return [];
  }
}
