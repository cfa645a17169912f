import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { Option } from "commander";
import { OWN_VIEWS } from "../../db/view-files.js";
import { Lake } from "../../lake/lake.js";
import { paint } from "../text/text.js";

/** Options that every command has. */
export interface CommonOptions {
  readonly lake: string;
  readonly json?: boolean;
}

/** `--lake DIR`. */
export function lakeOption(): Option {
  return new Option("--lake <dir>", "folder of the lake").env("BARLAKE_LAKE").default("data");
}

/** `--json`. */
export function jsonOption(): Option {
  return new Option("--json", "print one JSON object, for machines");
}

/**
 * The lake that the options name. The views of the working directory, `sql/views/*.sql` or those of the folder that
 * BARLAKE_VIEWS names, are laid over its own.
 */
export function openLake(options: CommonOptions): Lake {
  const folder = resolve(process.env.BARLAKE_VIEWS ?? "sql/views");
  const isOwn = existsSync(folder) && realpathSync(folder) === realpathSync(OWN_VIEWS);
  return isOwn
    ? new Lake(options.lake)
    : new Lake(options.lake, { userViews: { folder, onFault: tellFault } });
}

/** Says once what is the matter with a view of the user's: a run lays the views many times. */
function tellFault({ message }: Error): void {
  if (told.has(message)) return;
  told.add(message);
  process.stderr.write(`${paint("yellow", "warning:")} ${message}\n`);
}

const told = new Set<string>();

/** Prints a result for machines: one JSON object on one line. int64 as a number where it is one, else as text. */
export function printJson(value: unknown): void {
  process.stdout.write(
    `${JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? Number(item) : item))}\n`,
  );
}
