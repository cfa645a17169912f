import { z } from "zod";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import type { Storage } from "../../storage/storage.js";
import { hashInName } from "../data-file.js";

const verifiedFile = z.object({ files: z.record(z.string(), z.iso.datetime()) });

/** The path of the record of when a table's data files were last verified. */
function pathOf({ table }: Snapshot): string {
  return `verified/${table.name}.json`;
}

/**
 * When each live file was last known to be intact, in epoch milliseconds: the later of its last full check and its
 * writing. A file of another program has no hash in its name, so its writing does not count: 0 where it was never
 * checked.
 *
 * @param now epoch milliseconds; later times do not count: the clock was ahead when they were recorded.
 * @default all times count
 */
export async function verifiedFiles(
  storage: Storage,
  snapshot: Snapshot,
  now: number = Number.POSITIVE_INFINITY,
): Promise<Map<DataFile, number>> {
  const known = await readKnown(storage, snapshot);
  const times = new Map<DataFile, number>();
  for (const file of snapshot.files.values()) {
    const written = hashInName(file.path) === undefined ? 0 : file.writtenAt;
    const found = [written, Date.parse(known[file.path] ?? "") || 0];
    times.set(file, Math.max(0, ...found.filter((time) => time <= now)));
  }
  return times;
}

/** The oldest verification time of a table's live files, in epoch milliseconds; undefined for a table without files. */
export async function verifiedSince(storage: Storage, snapshot: Snapshot): Promise<number | undefined> {
  const times = [...(await verifiedFiles(storage, snapshot)).values()];
  return times.length === 0 ? undefined : times.reduce((oldest, time) => Math.min(oldest, time));
}

/**
 * Records that files of a table were verified. If two processes do so at the same time, one may overwrite the record of
 * the other: those files are then checked again sooner than necessary.
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

/** The recorded times; empty where the record is missing or damaged, so that all files are checked again. */
async function readKnown(storage: Storage, snapshot: Snapshot): Promise<Record<string, string>> {
  const text = await storage.readText(pathOf(snapshot));
  try {
    return verifiedFile.parse(JSON.parse(text ?? '{"files":{}}')).files;
  } catch {
    return {};
  }
}
