import { compareText } from "../core/text-order.js";
import type { DataFile } from "./snapshot.js";
import type { StagedPartition, StagedRows } from "./staged-rows.js";

/**
 * Of some files, those that could hold a key of staged rows: same partition, and ranges that meet in every column that
 * the log keeps statistics of. A file without statistics could hold any.
 */
export function overlappingFiles(files: Iterable<DataFile>, staged: StagedRows): DataFile[] {
  return [...files].filter((file) => staged.partitions.some((part) => meets(file, part)));
}

function meets(file: DataFile, staged: StagedPartition): boolean {
  for (const [name, value] of Object.entries(staged.values)) {
    if (file.partitionValues[name] !== value) return false;
  }
  for (const name of Object.keys(staged.min)) {
    const min = file.stats?.minValues?.[name];
    const max = file.stats?.maxValues?.[name];
    if (min === undefined || max === undefined) continue;
    if (compareText(max, staged.min[name] as string) < 0) return false;
    if (compareText(min, staged.max[name] as string) > 0) return false;
  }
  return true;
}
