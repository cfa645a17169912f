import { compareText } from "../core/text-order.js";

/** What a plan of compaction must know of a data file. */
export interface CompactableFile {
  /** Names the partition; files of different ones never come together. */
  readonly partition: string;
  /** Bytes that its rows take once they are compacted. */
  readonly bytes: number;
  /** Whether it is what a compaction wrote; any other is written anew at least once. */
  readonly isCompact: boolean;
  /** Smallest and largest value of the first sort column, both inclusive; undefined where the log does not tell. */
  readonly range: { readonly min: string; readonly max: string } | undefined;
}

/** Files that are to be written anew, together. */
export interface CompactionGroup<File> {
  readonly files: readonly File[];
  /** Files that they become, at most. */
  readonly outputs: number;
}

/** What is to be done in one partition; never without a group. */
export interface PartitionCompaction<File> {
  readonly partition: string;
  readonly groups: readonly CompactionGroup<File>[];
}

/** Files whose ranges no file outside meets, ascending. */
interface Cluster<File> {
  readonly files: readonly File[];
  readonly bytes: number;
}

/**
 * Decides which files of which partition become one, or a few large ones. Files whose ranges meet come together, and
 * neighbours as long as they fit in one file. What is left out stays as it is: compacted files that are no more than
 * their bytes need.
 *
 * @param targetBytes size that a file should have at most; above 0.
 * @returns partitions in ascending order, those without work left out; the groups of one do not overlap.
 */
export function planCompaction<File extends CompactableFile>(
  files: Iterable<File>,
  targetBytes: number,
): PartitionCompaction<File>[] {
  const byPartition = new Map<string, File[]>();
  for (const file of files) {
    const members = byPartition.get(file.partition);
    if (members) members.push(file);
    else byPartition.set(file.partition, [file]);
  }
  return [...byPartition]
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
    .filter(
      ({ files: members, outputs }) => members.length > outputs || members.some((file) => !file.isCompact),
    );
}

function clustersOf<File extends CompactableFile>(files: readonly File[]): Cluster<File>[] {
  const ranged = files.flatMap((file) => (file.range === undefined ? [] : [{ file, ...file.range }]));
  // A file that could hold any value meets all others.
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

/** Joins neighbours that fit in one file together. */
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
