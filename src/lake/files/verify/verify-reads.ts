import pMap from "p-map";
import type { FileRead } from "../../../db/reads/file-reads.js";
import type { Session } from "../../../db/session/session.js";
import type { Lake } from "../../lake.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import { TRAILER_BYTES } from "../footer-digest.js";
import { verifyFooterOnce, verifyOnce } from "./verify-content.js";

/** A live file, and the snapshot that it belongs to. */
interface LiveFile {
  readonly snapshot: Snapshot;
  readonly file: DataFile;
}

/**
 * Verifies the data files that a session's statements read, each once in this process, before a result counts as whole.
 * Parquet has no checksums: nothing marks the rows of a damaged file.
 */
export async function verifyReads(
  session: Session,
  lake: Lake,
  snapshots: readonly Snapshot[],
): Promise<void> {
  let files: Map<string, LiveFile> | undefined;
  await session.onReads(async (reads) => {
    if (reads.length === 0) return;
    files ??= filesByUrl(lake, snapshots);
    const faults: unknown[] = [];
    // All are verified, also after the first fault: rows of the others may be in memory, and are not read again.
    const verifyOne = async (read: FileRead): Promise<void> => {
      const live = files?.get(read.path);
      if (live === undefined) return;
      const verified = hasReadRows(read, live.file)
        ? verifyOnce(lake, live.snapshot, [live.file]).then(() => void files?.delete(read.path))
        : verifyFooterOnce(lake, live.snapshot, live.file);
      await verified.catch((fault: unknown) => faults.push(fault));
    };
    await pMap(reads, verifyOne, { concurrency: lake.storage.access === undefined ? 1 : 4 });
    if (faults.length === 0) return;
    // Later statements read the damaged bytes again, so that they are verified again.
    const remote = lake.storage.access === undefined ? [] : ["enable_http_metadata_cache"];
    for (const cache of ["parquet_metadata_cache", "enable_external_file_cache", ...remote])
      await session.run(`SET ${cache} = false`).catch(() => {});
    throw faults[0];
  });
}

/**
 * Whether more than the footer was read. A query reads the footers of many files and finds that it needs none of their
 * rows. Only reads of the footer reach up to the trailer.
 */
function hasReadRows({ first, end }: FileRead, { size }: DataFile): boolean {
  return first < TRAILER_BYTES || end < size - TRAILER_BYTES;
}

function filesByUrl(lake: Lake, snapshots: readonly Snapshot[]): Map<string, LiveFile> {
  const files = new Map<string, LiveFile>();
  for (const snapshot of snapshots)
    for (const file of snapshot.files.values()) files.set(lake.urlOf(snapshot, file), { snapshot, file });
  return files;
}
