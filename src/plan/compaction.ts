import { groupBy } from "../core/group-by.js";
import { compareText } from "../core/text-order.js";

export interface CompactableFile {
  /** Names the partition; files of different partitions are never joined. */
  readonly partition: string;
  /** Estimated size of its rows in bytes after a compaction. */
  readonly bytes: number;
  /**
   * Who wrote it: `compacted` a compaction, `landed` a landing, which sorts its rows, too. Of `other` files, those of other
   * writers, nothing is known: each is rewritten once.
   */
  readonly kind: "compacted" | "landed" | "other";
  /**
   * Smallest and largest value of the first sort column, both inclusive; undefined where the log does not state them.
   */
  readonly range: { readonly min: string; readonly max: string } | undefined;
}

export interface CompactionGroup<File> {
  readonly files: readonly File[];
  /** Most files into which they are rewritten. */
  readonly outputs: number;
}

/** The work in one partition; it has at least one group. */
export interface PartitionCompaction<File> {
  readonly partition: string;
  readonly groups: readonly CompactionGroup<File>[];
}

/** Ascending files whose ranges overlap no file outside the cluster. */
interface Cluster<File> {
  readonly files: readonly File[];
  readonly bytes: number;
}

/**
 * Decides which files of a partition are joined into one, or a few large ones. Files with overlapping ranges are
 * joined, and adjacent ones as long as they fit in one file. Compacted files are not rewritten as long as their number
 * is not larger than their size requires, and a landed file is not if there is nothing to join it with or to divide.
 *
 * @param targetBytes most bytes of a file; above 0.
 * @returns partitions in ascending order, without those that need no work. The groups of a partition do not overlap.
 */
export function planCompaction<File extends CompactableFile>(
  files: Iterable<File>,
  targetBytes: number,
): PartitionCompaction<File>[] {
  return [...groupBy(files, ({ partition }) => partition)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([partition, members]) => ({ partition, groups: groupsOf(members, targetBytes) }))
    .filter(({ groups }) => groups.length > 0);
}

function groupsOf<File extends CompactableFile>(
  files: readonly File[],
  targetBytes: number,
): CompactionGroup<File>[] {
  return packed(clustersOf(files), targetBytes)
    .map(({ files: members, bytes }) => ({
      files: members,
      outputs: Math.max(1, Math.ceil(bytes / targetBytes)),
    }))
    .filter(gains);
}

function gains({ files, outputs }: CompactionGroup<CompactableFile>): boolean {
  if (files.length > outputs || files.some(({ kind }) => kind === "other")) return true;
  // Landed files that overlap are divided anew, even if there are not fewer of them.
  return files.some(({ kind }) => kind === "landed") && files.length + outputs > 2;
}

function clustersOf<File extends CompactableFile>(files: readonly File[]): Cluster<File>[] {
  const ranged = files.flatMap((file) => (file.range === undefined ? [] : [{ file, ...file.range }]));
  // A file without a known range overlaps all others.
  if (ranged.length < files.length) return [clusterOf(files)];
  ranged.sort((a, b) => compareText(a.min, b.min) || compareText(a.max, b.max));
  const clusters: File[][] = [];
  let end: string | undefined;
  for (const { file, min, max } of ranged) {
    if (end !== undefined && compareText(min, end) <= 0) clusters.at(-1)?.push(file);
    else clusters.push([file]);
    if (end === undefined || compareText(max, end) > 0) end = max;
  }
  return clusters.map(clusterOf);
}

function packed<File extends CompactableFile>(
  clusters: readonly Cluster<File>[],
  targetBytes: number,
): Cluster<File>[] {
  const joined: { files: File[]; bytes: number }[] = [];
  for (const { files, bytes } of clusters) {
    const last = joined.at(-1);
    if (last === undefined || last.bytes + bytes > targetBytes) {
      joined.push({ files: [...files], bytes });
      continue;
    }
    for (const file of files) last.files.push(file);
    last.bytes += bytes;
  }
  return joined;
}

function clusterOf<File extends CompactableFile>(files: readonly File[]): Cluster<File> {
  return { files, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}
