import { isDeepStrictEqual } from "node:util";
import type { DataFile, Snapshot } from "../../log/snapshot.js";

/**
 * How a checkpoint differs from the state that the log gives at its version, in a few words; undefined where it does
 * not. A checkpoint may leave out old removed files and old landed responses.
 */
export function checkpointDifference(log: Snapshot, checkpoint: Snapshot): string | undefined {
  for (const [path, file] of log.files) {
    const other = checkpoint.files.get(path);
    if (other === undefined) return `it lacks ${path}`;
    const difference = fileDifference(file, other);
    if (difference !== undefined) return `${path} has another ${difference}`;
  }
  for (const path of checkpoint.files.keys()) {
    if (!log.files.has(path)) return `it has ${path}, which is not live`;
  }
  for (const [identity, { version }] of checkpoint.txns) {
    if (log.txns.get(identity)?.version !== version) return `it has another transaction ${identity}`;
  }
  const { metaData, protocol } = log;
  if (
    metaData?.id !== checkpoint.metaData?.id ||
    metaData?.schemaString !== checkpoint.metaData?.schemaString
  )
    return "it has other columns";
  if (
    protocol?.minReaderVersion !== checkpoint.protocol?.minReaderVersion ||
    protocol?.minWriterVersion !== checkpoint.protocol?.minWriterVersion
  )
    return "it has another protocol";
  return undefined;
}

/** Statistics are compared only where both files have them: other writers may store them in separate columns. */
function fileDifference(file: DataFile, other: DataFile): string | undefined {
  if (file.size !== other.size) return "size";
  if (!isDeepStrictEqual({ ...file.partitionValues }, { ...other.partitionValues })) return "partition";
  const [stats, others] = [file.stats, other.stats];
  if (stats === undefined || others === undefined) return undefined;
  return isDeepStrictEqual(stats, others) ? undefined : "statistics";
}
