import { Option } from "commander";
import { Lake } from "../lake/lake.js";

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

/** The lake that the options name. */
export function openLake(options: CommonOptions): Lake {
  return new Lake(options.lake);
}

/** Prints a result for machines: one JSON object on one line. int64 as a number where it is one, else as text. */
export function printJson(value: unknown): void {
  process.stdout.write(
    `${JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? Number(item) : item))}\n`,
  );
}
