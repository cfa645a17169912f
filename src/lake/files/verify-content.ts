import { join } from "node:path";
import pMap from "p-map";
import { z } from "zod";
import { LakeError, messageOf, TransportError } from "../../core/errors.js";
import type { FileRead } from "../../db/reads/file-reads.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../lake.js";
import { forgetSymbols, TagFile } from "../local/symbols-file.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import type { ByteRange, Storage } from "../storage/storage.js";
import { isStoreFault, STORE_HINT } from "../storage/store-fault.js";
import { type ContentHash, contentHash, FOOTER_TAG, hasFooter, TRAILER_BYTES } from "./content-hash.js";
import { hashInName } from "./data-file.js";

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

export interface FileDamage {
  /** `missing`: there is no file. `damaged`: it is not what was written. `unreadable`: the system reports an error. */
  readonly kind: "missing" | "damaged" | "unreadable";
  readonly what: string;
  readonly cause?: unknown;
}

const MISSING: FileDamage = { kind: "missing", what: "is missing" };

/**
 * Compares a live file with what was written: its content with the hash in its name, or, for another program's file,
 * its size with the one in the log. This is needed because DuckDB writes Parquet without checksums.
 *
 * @param signal ends it within the file; its reason is thrown.
 * @returns undefined where the file is sound.
 */
export async function damageOf(
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
  signal?: AbortSignal,
): Promise<FileDamage | undefined> {
  const expected = hashInName(file.path);
  try {
    if (expected === undefined) {
      const found = await lake.factsOf(snapshot, file);
      if (found === undefined) return MISSING;
      if (found.size === file.size) return undefined;
      return { kind: "damaged", what: `has ${found.size} bytes, and ${file.size} by the log` };
    }
    const read = async (): Promise<ContentHash | undefined> => {
      const pieces = await lake.read(snapshot, file);
      return pieces && contentHash(pieces, signal);
    };
    const found = await read();
    if (found === undefined) return MISSING;
    if (found.hash === expected) return undefined;
    if (lake.storage.access !== undefined) {
      // Bytes that were lost or changed on their way from the store are not read twice in the same way.
      const again = await read();
      if (again?.hash === expected) return undefined;
      if (again?.hash !== found.hash) throw new TransportError("two reads of it gave different bytes");
      const size = (await lake.factsOf(snapshot, file))?.size;
      if (size !== found.bytes)
        throw new TransportError(`the store sent ${found.bytes} of its ${size} bytes`);
    }
    // The symbols that were cached of the file may be those of the damaged content.
    await forgetSymbols(lake, snapshot.table);
    const what = `is not what was written: its hash is ${found.hash}, and its name says ${expected}`;
    return { kind: "damaged", what };
  } catch (cause) {
    signal?.throwIfAborted();
    return unreadable(cause);
  }
}

const TAGS = new WeakMap<Lake, TagFile>();

/**
 * As {@link damageOf}, but this machine reads each file of a store only once: while a file's tag is the same, its
 * content is the same.
 */
export async function damageSinceVerified(
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
  signal?: AbortSignal,
): Promise<FileDamage | undefined> {
  if (lake.storage.access === undefined || hashInName(file.path) === undefined)
    return damageOf(lake, snapshot, file, signal);
  const tags = TAGS.get(lake) ?? new TagFile(join(lake.work.path, "verified.ndjson"));
  TAGS.set(lake, tags);
  const path = `${snapshot.table.name}/${file.path}`;
  try {
    // The tag is read first: a file that replaces this one afterwards has another tag.
    const facts = await lake.factsOf(snapshot, file);
    if (facts === undefined) return MISSING;
    if ((await tags.known()).get(path) === facts.tag) return undefined;
    const damage = await damageOf(lake, snapshot, file, signal);
    // If the tag cannot be recorded, the file is verified again next time.
    if (damage === undefined) await tags.add(path, facts.tag).catch(() => {});
    return damage;
  } catch (cause) {
    signal?.throwIfAborted();
    return unreadable(cause);
  }
}

/** Files that are verified at the same time. */
const PARALLEL = 4;

/**
 * Makes sure that live files are intact before staged rows are compared with their rows, or rows are copied from them.
 * Otherwise a damaged key counts as a different key, and a copy of damaged rows gets a hash that matches them and seems
 * intact for ever.
 *
 * @param signal ends it, also within a file; its reason is thrown.
 * @throws {LakeError} for the first file of this program that is damaged, or cannot be read; files of other programs
 *   are not checked.
 */
export async function verifyContent(
  lake: Lake,
  snapshot: Snapshot,
  files: Iterable<DataFile>,
  signal?: AbortSignal,
): Promise<void> {
  const own = [...files].filter(({ path }) => hashInName(path) !== undefined);
  const concurrency = lake.storage.access === undefined ? 1 : PARALLEL;
  await pMap(
    own,
    async (file) => {
      signal?.throwIfAborted();
      const damage = await damageSinceVerified(lake, snapshot, file, signal);
      if (damage !== undefined) throw damageError(snapshot, file, damage);
    },
    { concurrency },
  );
}

const RESTORE =
  "restore it from a backup, or run barlake repair; barlake check --deep shows what else is damaged";
/** A hint for a file that could not be read: it was not verified, but may be sound. */
const READ_AGAIN = `the file may be sound: make it readable for this process, and try again; otherwise ${RESTORE}`;

export function damageError(
  { table }: Snapshot,
  file: DataFile,
  { kind, what, cause }: FileDamage,
): LakeError {
  const again = isStoreFault(cause) ? STORE_HINT : READ_AGAIN;
  const hint = kind === "unreadable" ? again : RESTORE;
  return new LakeError(`table ${table.name}: ${file.path} ${what}`, { hint, cause });
}

/** What is reported for a file that could not be read. Such a file does not count as verified. */
export function unreadable(cause: unknown): FileDamage {
  return { kind: "unreadable", what: `is not readable: ${messageOf(cause)}`, cause };
}

/** Paths of live files by lake, in the order in which they were verified. */
type VerifiedPaths = WeakMap<Lake, Set<string>>;

/** The verified live files. A file never changes once it has its name. */
const VERIFIED: VerifiedPaths = new WeakMap();

/**
 * As {@link verifyContent}, but verifies each file once in this process.
 * @throws {LakeError} for the first damaged file.
 */
export async function verifyOnce(
  lake: Lake,
  snapshot: Snapshot,
  files: Iterable<DataFile>,
  signal?: AbortSignal,
): Promise<void> {
  const verified = pathsOf(VERIFIED, lake);
  const concurrency = lake.storage.access === undefined ? 1 : PARALLEL;
  await pMap(
    files,
    async (file) => {
      const path = `${snapshot.table.name}/${file.path}`;
      if (verified.has(path)) return;
      await verifyContent(lake, snapshot, [file], signal);
      verified.add(path);
    },
    { concurrency },
  );
}

const FOOTERS: VerifiedPaths = new WeakMap();

/**
 * Compares a live file's footer with the digest in the log, once in this process. It is used for files of which only
 * the footer was read. A file without a digest, from another program or an earlier version, is not verified.
 *
 * @throws {LakeError} where the footer differs, or the file is missing or cannot be read.
 */
async function verifyFooterOnce(lake: Lake, snapshot: Snapshot, file: DataFile): Promise<void> {
  const digest = file.tags?.[FOOTER_TAG];
  const path = `${snapshot.table.name}/${file.path}`;
  const verified = pathsOf(FOOTERS, lake);
  if (digest === undefined || verified.has(path)) return;
  const read = (range: ByteRange): Promise<Buffer | undefined> => lake.readRange(snapshot, file, range);
  const isSound = await hasFooter(read, digest).catch((cause: unknown) => {
    throw damageError(snapshot, file, unreadable(cause));
  });
  if (isSound === undefined) throw damageError(snapshot, file, MISSING);
  const what = "is not what was written: its footer is damaged";
  if (!isSound) throw damageError(snapshot, file, { kind: "damaged", what });
  verified.add(path);
}

/** Paths of the live files that a process has verified: their whole content, or their footer. */
export interface VerifiedFiles {
  readonly content: readonly string[];
  readonly footers: readonly string[];
}

interface VerifiedCounts {
  readonly content: number;
  readonly footers: number;
}

/** The files that this process has verified since it had verified so many, in the order in which it did. */
export function verifiedOf(lake: Lake, since: VerifiedCounts = { content: 0, footers: 0 }): VerifiedFiles {
  return {
    content: [...pathsOf(VERIFIED, lake)].slice(since.content),
    footers: [...pathsOf(FOOTERS, lake)].slice(since.footers),
  };
}

export function verifiedCounts(lake: Lake): VerifiedCounts {
  return { content: pathsOf(VERIFIED, lake).size, footers: pathsOf(FOOTERS, lake).size };
}

/** Adds the files that another process of this machine has verified, so that this one does not read them for that. */
export function addVerified(lake: Lake, { content, footers }: VerifiedFiles): void {
  for (const path of content) pathsOf(VERIFIED, lake).add(path);
  for (const path of footers) pathsOf(FOOTERS, lake).add(path);
}

function pathsOf(verified: VerifiedPaths, lake: Lake): Set<string> {
  const paths = verified.get(lake) ?? new Set();
  verified.set(lake, paths);
  return paths;
}

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
