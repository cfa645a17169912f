import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { Option } from "commander";
import { UsageError } from "../../core/errors.js";
import { OWN_VIEWS } from "../../db/views/view-files.js";
import { Lake, type LakeOptions } from "../../lake/lake.js";
import { paint } from "../text/text.js";

/** Options that every command has. */
export interface CommonOptions {
  readonly lake: string;
  readonly json?: boolean;
}

/** `--lake LOCATION`. */
export function lakeOption(): Option {
  return new Option("--lake <location>", "folder of the lake, or s3://bucket/prefix")
    .env("BARLAKE_LAKE")
    .default("data");
}

/** `--json`. */
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
