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
 * Verifies the data files that a session's statements read, each once in this process, before a result counts as
 * complete. Parquet has no checksums, so DuckDB does not notice damaged rows.
 *
 * @throws {LakeError} within the session's statement, for the first damaged file.
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
    // All files are verified, even after a fault: rows of the others may already be in memory, and are then not read
    // again.
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
    // Without these caches later statements read the damaged bytes from the file again, and verify them again.
    const remote = lake.storage.access === undefined ? [] : ["enable_http_metadata_cache"];
    for (const cache of ["parquet_metadata_cache", "enable_external_file_cache", ...remote])
      await session.run(`SET ${cache} = false`).catch(() => {});
    throw faults[0];
  });
}

/**
 * Whether a read covers more than the footer. A query may read the footers of many files and find that it needs none of
 * their rows. Only a read of the footer begins after the first bytes and reaches the trailer.
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
