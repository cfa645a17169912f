import { z } from "zod";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import type { Storage } from "../storage/storage.js";
import { hashInName } from "./data-file.js";

const verifiedFile = z.object({ files: z.record(z.string(), z.iso.datetime()) });

/** The file of a lake that says when a table's data files were last found to be what was written. */
function pathOf({ table }: Snapshot): string {
  return `verified/${table.name}.json`;
}

/**
 * When each live file was last known to be what was written, in epoch milliseconds: by a check that read it in full, or as
 * it was written. Another program's file has no hash in its name: of it only the size is compared.
 */
export async function verifiedFiles(storage: Storage, snapshot: Snapshot): Promise<Map<DataFile, number>> {
  const known = await readKnown(storage, snapshot);
  const times = new Map<DataFile, number>();
  for (const file of snapshot.files.values()) {
    const written = hashInName(file.path) === undefined ? 0 : file.writtenAt;
    times.set(file, Math.max(written, Date.parse(known[file.path] ?? "") || 0));
  }
  return times;
}

/** Since when every live file of a table is known to be what was written; undefined for a table without files. */
export async function verifiedSince(storage: Storage, snapshot: Snapshot): Promise<number | undefined> {
  const times = [...(await verifiedFiles(storage, snapshot)).values()];
  return times.length === 0 ? undefined : times.reduce((oldest, time) => Math.min(oldest, time));
}

/**
 * Records that files of a table are what was written. Of two processes that do so at the same time one may overwrite what
 * the other recorded: those files are read again sooner than they need to be.
 *
 * @param now epoch milliseconds.
 */
export async function recordVerified(
  storage: Storage,
  snapshot: Snapshot,
  files: readonly DataFile[],
  now: number,
): Promise<void> {
  if (files.length === 0) return;
  const known = await readKnown(storage, snapshot);
  const at = new Date(now).toISOString();
  const merged = { ...known, ...Object.fromEntries(files.map(({ path }) => [path, at])) };
  const live = Object.entries(merged).filter(([path]) => snapshot.files.has(path));
  await storage.put(pathOf(snapshot), `${JSON.stringify({ files: Object.fromEntries(live) })}\n`);
}

/** What is recorded; nothing where the record is missing or damaged: then all is read again. */
async function readKnown(storage: Storage, snapshot: Snapshot): Promise<Record<string, string>> {
  const text = await storage.readText(pathOf(snapshot));
  try {
    return verifiedFile.parse(JSON.parse(text ?? '{"files":{}}')).files;
  } catch {
    return {};
  }
}
