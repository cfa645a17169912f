import { basename } from "node:path";
import { messageOf, UsageError } from "../../../core/errors.js";

/** The endings of files, with their format and compression. */
export const FORMATS =
  /\.(csv|tsv|txt|dat|parquet|pq|json|ndjson|jsonl|arrow|arrows|feather|ipc)(\.gz|\.zst)?$/i;

/** The file's name without folder and endings. */
export function stemOf(path: string): string {
  return basename(path)
    .replace(/\.zip$/i, "")
    .replace(FORMATS, "");
}

/** Escapes a path, so that DuckDB reads this one file, and does not treat the path as a pattern. */
export function exactPath(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}

/** The error of a file that is not Arrow, or that Arrow's reader does not read. */
export function notArrow(path: string, cause: unknown): UsageError {
  return new UsageError(`file ${path}: Arrow's reader cannot read it (${messageOf(cause)})`, {
    hint: "write it without compression, or as Parquet",
    cause,
  });
}
