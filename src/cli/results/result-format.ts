import { extname } from "node:path";
import { Option } from "commander";
import { UsageError } from "../../core/errors.js";

/** Formats in which a result can be written. */
export const RESULT_FORMATS = ["table", "csv", "json", "arrow", "parquet", "markdown", "xlsx"] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

const BY_ENDING: Readonly<Record<string, ResultFormat>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "json",
  ".ndjson": "json",
  ".parquet": "parquet",
  ".arrow": "arrow",
  ".arrows": "arrow",
  ".feather": "arrow",
  ".ipc": "arrow",
  ".md": "markdown",
  ".xlsx": "xlsx",
  ".txt": "table",
};

/** The format of a file name; undefined if its ending is not known. */
export function formatOfFile(file: string): ResultFormat | undefined {
  return BY_ENDING[extname(file).toLowerCase()];
}

/**
 * The format of a file that a result goes to: CSV where the name has no ending.
 *
 * @throws {UsageError} for an ending that promises another format.
 */
export function formatOfOutput(file: string): ResultFormat {
  const format = formatOfFile(file);
  if (format !== undefined || extname(file) === "" || file.startsWith("/dev/")) return format ?? "csv";
  throw new UsageError(`file ${file}: no result can be written as ${extname(file)}`, {
    hint: `the endings are ${Object.keys(BY_ENDING).join(" ")}; --format names another format`,
  });
}

/** `--format FORMAT`. */
export function formatOption(): Option {
  return new Option(
    "--format <format>",
    "of the result (default: by the output's name, else a table)",
  ).choices(RESULT_FORMATS);
}
