import { createHash } from "node:crypto";
import { dirname } from "node:path/posix";
import { hashInName } from "../../../lake/files/data-file.js";
import type { Snapshot } from "../../../lake/log/snapshot.js";

/**
 * The digest of a table's content: of the partitions of its data files, and of the hashes in their names. A file of
 * another program has no hash in its name, so that the name counts.
 */
export function sourceDigest({ files }: Snapshot): string {
  const contents = Array.from(files.keys(), (path) => [dirname(path), hashInName(path) ?? path].join("/"));
  return createHash("sha256").update(JSON.stringify(contents.sort())).digest("hex");
}

/** The digests of the tables that have a commit, by name. */
export function sourcesOf(snapshots: readonly Snapshot[]): Record<string, string> {
  const committed = snapshots.filter(({ version }) => version >= 0);
  return Object.fromEntries(committed.map((snapshot) => [snapshot.table.name, sourceDigest(snapshot)]));
}
