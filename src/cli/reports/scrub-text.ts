import type { ScrubReport } from "../../jobs/maintenance/scrub-lake.js";
import { paint, plural, size } from "../text/text.js";

/** The result of verifying a part of the lake, on one line; a further line for each damaged file. */
export function scrubText({ files, bytes, damaged, verifiedSince }: ScrubReport): string {
  if (files === 0 && damaged.length === 0) return "nothing to verify: all was verified within the last week";
  const found =
    damaged.length === 0
      ? paint("green", "as they were written")
      : paint("red", `${plural(damaged.length, "file")} damaged`);
  const since =
    verifiedSince === undefined
      ? ""
      : `; all verified since ${new Date(verifiedSince).toISOString().slice(0, 10)}`;
  return [
    `verified ${plural(files, "file")} (${size(bytes)}): ${found}${damaged.length === 0 ? since : ""}`,
    ...damaged.map((what) => `  ${what}`),
    ...(damaged.length === 0 ? [] : ["  barlake repair restores them, or has their rows requested again"]),
  ].join("\n");
}
