import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Option } from "commander";
import { UsageError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import { OWN_VIEWS } from "../../db/views/view-files.js";
import { hasTables, Lake, type LakeOptions } from "../../lake/lake.js";
import { publishIfMoved } from "../../lake/publish.js";
import { paint } from "../text.js";

export interface CommonOptions {
  readonly lake: string;
  readonly json?: boolean;
}

export function lakeOption(): Option {
  return new Option("--lake <location>", "folder of the lake, or s3://bucket/prefix")
    .env("BARLAKE_LAKE")
    .default("data");
}

export function jsonOption(): Option {
  return new Option("--json", "print one JSON object, for machines");
}

/**
 * The lake that the options name. Its views are extended by the user's: `sql/views/*.sql` of the working directory, or
 * of the folder that BARLAKE_VIEWS names.
 */
export function openLake(options: CommonOptions, extra?: Pick<LakeOptions, "patience">): Lake {
  return lakeAt(options.lake, extra);
}

/** The lake of a location, as {@link openLake} opens it. @throws {UsageError} where it is a file. */
export function lakeAt(location: string, extra: Pick<LakeOptions, "patience"> = {}): Lake {
  if (statSync(location, { throwIfNoEntry: false })?.isFile()) {
    throw new UsageError(`lake ${location}: is a file, not a folder`, {
      hint: "give the folder that the lake is in, or is to be made in",
    });
  }
  const folder = resolve(process.env.BARLAKE_VIEWS ?? "sql/views");
  const isOwn = existsSync(folder) && realpathSync(folder) === realpathSync(OWN_VIEWS);
  const userViews = isOwn ? {} : { userViews: { folder, onFault: reportFault } };
  return new Lake(location, { ...userViews, ...extra });
}

/** Reports each problem with a user's view once, although a run creates the views many times. */
function reportFault({ message }: Error): void {
  if (warned.has(message)) return;
  warned.add(message);
  process.stderr.write(`${paint("yellow", "warning:")} ${message}\n`);
}

const warned = new Set<string>();

/** Prints a result for machines: one JSON object on one line. An int64 is a number if it fits, otherwise text. */
export function printJson(value: unknown): void {
  process.stdout.write(
    `${JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? Number(item) : item))}\n`,
  );
}

/** The lake that the demo makes for those who begin; its other lake is the market that it serves. */
const DEMO_LAKE = join("data", "demo", "lake");
/** Most lakes that a hint names. */
const MOST_NAMED = 10;
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
  // The demo's own lake is the one that its pages and commands name.
  const found = (await lakesBelow(".")).sort((a, b) => Number(b === DEMO_LAKE) - Number(a === DEMO_LAKE));
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
