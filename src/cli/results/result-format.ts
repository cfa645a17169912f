import { extname } from "node:path";
import { Option } from "commander";

/** Formats in which a result can be written. */
export const RESULT_FORMATS = ["table", "csv", "json", "arrow", "parquet", "markdown"] as const;
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
  ".txt": "table",
};

/** The format of a file name; undefined if its ending is not known. */
export function formatOfFile(file: string): ResultFormat | undefined {
  return BY_ENDING[extname(file).toLowerCase()];
}

/** `--format FORMAT`. */
export function formatOption(): Option {
  return new Option(
    "--format <format>",
    "of the result (default: by the output's name, else a table)",
  ).choices(RESULT_FORMATS);
}
