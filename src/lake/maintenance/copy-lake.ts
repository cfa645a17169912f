import { createHash } from "node:crypto";
import pMap from "p-map";
import { LakeError, UsageError } from "../../core/errors.js";
import type { TableSchema } from "../../schema/column.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { TABLES } from "../../schema/tables.js";
import { hashInName } from "../files/data-file.js";
import { isOutside, type Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";
import { commitFile, type LogFiles, lastCheckpointFile, listLog } from "../log/log-files.js";
import type { StoredFile } from "../storage/storage.js";
import { isDataFile } from "./vacuum.js";

/** A file that is copied. Its path, relative to the lake, is the same in the source and in the destination. */
interface CopiedFile {
  readonly path: string;
  readonly size: number;
}

/** Whether a file was copied; `gone`: the source no longer has it. */
type CopyOutcome = "copied" | "gone";

/**
 * Copies a file, and verifies it while it is copied: its size, and its content where the name has a hash. The
 * destination shows only a complete file. A file that it already has at the path has another size, and is replaced.
 *
 * @throws {LakeError} where the content of the source's file does not match its name, or has another size.
 */
async function copyFile(
  from: LakePlaces,
  to: LakePlaces,
  { path, size }: CopiedFile,
  signal: AbortSignal | undefined,
): Promise<CopyOutcome> {
  const pieces = await from.storage.read(path);
  if (pieces === undefined) return "gone";
  const staged = await to.work.newFile("copy");
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    await to.work.write(
      staged,
      (async function* () {
        for await (const piece of pieces) {
          signal?.throwIfAborted();
          hash.update(piece);
          bytes += piece.length;
          yield piece;
        }
      })(),
    );
    const expected = hashInName(path);
    const sha256 = hash.digest("hex");
    const found = sha256.slice(0, 16);
    if (bytes !== size) throw damaged(from, path, `has ${bytes} bytes, and should have ${size}`);
    if (expected !== undefined && found !== expected)
      throw damaged(
        from,
        path,
        `is not what was written: its hash is ${found}, and its name says ${expected}`,
      );
    if (await to.storage.putFileIfAbsent(staged, path, sha256)) return "copied";
    await to.storage.delete(path);
    if (await to.storage.putFileIfAbsent(staged, path, sha256)) return "copied";
    throw new LakeError(`${to.storage.location}/${path}: another program writes it, too`, {
      hint: "end the other copy, then run this one again",
    });
  } finally {
    await to.work.discard(staged);
  }
}

function damaged({ storage }: LakePlaces, path: string, what: string): LakeError {
  return new LakeError(`${storage.location}/${path} ${what}: it was not copied`, {
    hint: "repair the lake that is copied (barlake repair), then run the copy again: it continues",
  });
}

interface TablePlan {
  readonly table: TableSchema;
  readonly version: number;
  /** Data files that the destination lacks, including those that only older versions have. */
  readonly files: readonly CopiedFile[];
  /** Paths of the version's own data files, relative to the lake. */
  readonly live: ReadonlySet<string>;
  readonly present: number;
  /** Versions of the commits that the destination lacks, ascending. */
  readonly commits: readonly number[];
  /** Files of checkpoints that the destination lacks, by version. */
  readonly checkpoints: ReadonlyMap<number, readonly CopiedFile[]>;
  /** Whether the source's log has a file that names its newest checkpoint. */
  readonly hasLastCheckpoint: boolean;
}

/**
 * Plans the copy of a table at its newest version.
 *
 * @returns undefined where the source has no commit of it, and neither has the destination.
 * @throws {UsageError} where the destination has commits that are not a beginning of the source's.
 * @throws {LakeError} where a live file is missing, or outside of the lake.
 */
async function planTable(from: Lake, to: Lake, table: TableSchema): Promise<TablePlan | undefined> {
  const { name } = table;
  const snapshot = await from.wholeSnapshot(table);
  // Listed after the log was read: all files that the log names exist, unless a vacuum has deleted them.
  const stored = await from.storage.walk(name);
  const log = await listLog(from.storage, name);
  const there = await to.storage.walk(name);
  const { version } = snapshot;
  await expectBeginning(from, to, name, { version, log, stored, there });
  if (version < 0) return undefined;
  for (const { path } of snapshot.files.values())
    if (isOutside(path))
      throw new LakeError(
        `table ${name}: ${path} is outside of the lake, so that it cannot be copied with it`,
        {
          hint: `barlake optimize ${name} --lake ${from.location} writes its rows into the lake, where the file is small`,
        },
      );
  const sizes = new Map(stored.map(({ path, size }) => [path, size]));
  const missing = [...snapshot.files.keys()].find((path) => !sizes.has(path));
  if (missing !== undefined)
    throw new LakeError(`table ${name}: ${missing} is missing in ${from.location}`, {
      hint: "barlake repair removes it from the table, or restores it from another copy",
    });
  const isOfTable = ({ path }: StoredFile): boolean =>
    isDataFile(path) && (snapshot.files.has(path) || snapshot.removed.has(path));
  const data = stored
    .filter(isOfTable)
    .map(({ path, size }) => ({ path, size: snapshot.files.get(path)?.size ?? size }));
  const thereSizes = new Map(there.map(({ path, size }) => [path, size]));
  const lacks = ({ path, size }: CopiedFile): boolean => thereSizes.get(path) !== size;
  const files = data.filter(lacks);
  // What a cleanup has left before the oldest checkpoint belongs to no version that can be read.
  const first = log.commits[0] === 0 ? 0 : (log.checkpoints[0]?.version ?? 0);
  const inLog = ({ path, size }: CopiedFile): CopiedFile => ({ path: `${name}/${path}`, size });
  const checkpoints = log.checkpoints
    .filter((one) => one.version <= version)
    .map((one): [number, CopiedFile[]] => [
      one.version,
      one.paths
        .map((path) => path.slice(name.length + 1))
        .map((path) => ({ path, size: sizes.get(path) ?? 0 }))
        .filter(lacks)
        .map(inLog),
    ]);
  return {
    table,
    version,
    files: files.map(inLog),
    live: new Set([...snapshot.files.keys()].map((path) => `${name}/${path}`)),
    present: data.length - files.length,
    commits: log.commits.filter(
      (one) => one >= first && one <= version && !thereSizes.has(inTable(name, commitFile(name, one))),
    ),
    checkpoints: new Map(checkpoints),
    hasLastCheckpoint: sizes.has(inTable(name, lastCheckpointFile(name))),
  };
}

function inTable(name: string, path: string): string {
  return path.slice(name.length + 1);
}

/** Makes sure that the destination's log is a beginning of the source's. @throws {UsageError} */
async function expectBeginning(
  from: Lake,
  to: Lake,
  name: string,
  {
    version,
    log,
    stored,
    there,
  }: {
    readonly version: number;
    readonly log: LogFiles;
    readonly stored: readonly StoredFile[];
    readonly there: readonly StoredFile[];
  },
): Promise<void> {
  const known = await listLog(to.storage, name);
  if (known.commits.length === 0 && known.checkpoints.length === 0) return;
  const other = (why: string): UsageError =>
    new UsageError(`${to.location} is not a beginning of ${from.location}: table ${name} ${why}`, {
      hint: "copy to an empty folder or prefix; to have both lakes' rows in one, ingest or import them",
    });
  if (known.newest > version) throw other(`has version ${known.newest} there, and ${version} in the source`);
  const sizes = new Map(stored.map(({ path, size }) => [path, size]));
  const thereSizes = new Map(there.map(({ path, size }) => [path, size]));
  const shared = known.commits.filter((one) => log.commits.includes(one));
  for (const one of shared) {
    const path = inTable(name, commitFile(name, one));
    if (sizes.get(path) !== thereSizes.get(path)) throw other(`has another version ${one}`);
  }
  // Names of data files contain a hash and random letters, so commits of two different lakes are never the same.
  for (const one of new Set([shared[0], shared.at(-1)])) {
    const texts =
      one === undefined ? [] : [from, to].map(({ storage }) => storage.readText(commitFile(name, one)));
    const [source, copy] = await Promise.all(texts);
    if (source !== copy) throw other(`has another version ${one}`);
  }
  if (known.commits.length > 0 && shared.length === 0) throw other("has none of its versions");
}

/** The progress of a copy, in data files and their bytes. */
export interface CopyProgress {
  readonly table: string;
  /** Number of files copied so far; `total` is the number of files to copy. */
  readonly done: number;
  readonly total: number;
  /** Bytes copied so far; `totalBytes` is the number of bytes to copy. */
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Options of a copy. */
export interface CopyOptions {
  /** Ends the copy. The same copy, started again, continues it. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** What was copied of a table. */
export interface CopyReport {
  readonly table: string;
  /** The table's version in the copy. */
  readonly version: number;
  readonly files: number;
  readonly bytes: number;
  /** Data files that the destination had already. */
  readonly present: number;
  readonly commits: number;
}

/** Files that are copied at the same time. Each is on the disk of this machine while it is copied. */
const PARALLEL = 4;

/** Folders that a lake may have in addition to its tables. The two whose files are copied have a constant. */
const REJECTS = "rejects";
const LIMITS = "limits";
const OWN = [REJECTS, LIMITS, "verified", "leases", "probes", "datasets", "spool", "answers", ".staging"];
/** The views for other DuckDB clients, and what DuckDB writes next to them. */
const DATABASE = "lake.duckdb";

/**
 * Copies a lake: every version of its tables, the files of all versions that can still be read, and the rejects. The
 * destination must be empty, or have an unfinished copy, which is continued: files that it has are not copied again.
 *
 * Data files are copied before the commits that name them, and commits in their order, so that readers of the
 * destination see whole versions only. The copied tables agree with each other: the version of the ledger is never
 * newer than the tables that it describes. Other programs may write to the source at the same time.
 *
 * @throws {UsageError} where the destination has other files; {@link LakeError} where a file of the source is damaged.
 */
export async function copyLake(from: Lake, to: Lake, options: CopyOptions = {}): Promise<CopyReport[]> {
  if (from.location === to.location)
    throw new UsageError(`${from.location} cannot be copied to itself`, { hint: "name another destination" });
  await expectOwn(to);
  // The ledger describes the other tables. So its version is read first, and becomes visible last.
  const ledgerFirst = [REQUESTS, RUNS, ...TABLES.filter((table) => table !== REQUESTS && table !== RUNS)];
  const plans: TablePlan[] = [];
  for (const table of ledgerFirst) {
    const plan = await planTable(from, to, table);
    if (plan !== undefined) plans.push(plan);
  }
  if (plans.length === 0)
    throw new UsageError(`${from.location} holds nothing that could be copied`, {
      hint: "name the folder, or s3://bucket/prefix, of a lake",
    });
  await copyData(from, to, plans, options);
  const ledgerLast = plans.toReversed();
  for (const plan of ledgerLast) await copyLog(from, to, plan, options.signal);
  return ledgerLast.map(({ table, version, files, present, commits }) => ({
    table: table.name,
    version,
    files: files.length,
    bytes: bytesOf(files),
    present,
    commits: commits.length,
  }));
}

async function copyData(
  from: Lake,
  to: Lake,
  plans: readonly TablePlan[],
  { signal, onProgress }: CopyOptions,
): Promise<void> {
  const others = await filesOutsideTables(from, to);
  const all = [
    ...plans.flatMap(({ table, files }) => files.map((file) => ({ table: table.name, file }))),
    ...others.map((file) => ({ table: file.path.split("/")[0] as string, file })),
  ];
  const totalBytes = bytesOf(all.map(({ file }) => file));
  let [done, bytes] = [0, 0];
  onProgress?.({ table: "", done, total: all.length, bytes, totalBytes });
  await pMap(
    all,
    async ({ table, file }) => {
      signal?.throwIfAborted();
      const outcome = await copyFile(from, to, file, signal);
      // A vacuum of the source may delete files that only old versions have. These versions then cannot be read in
      // either lake.
      if (outcome === "gone" && plans.some(({ live }) => live.has(file.path)))
        throw new LakeError(`${from.location}/${file.path} is gone, which was there when the copy began`, {
          hint: "run the copy again: it continues",
        });
      done += 1;
      bytes += file.size;
      onProgress?.({ table, done, total: all.length, bytes, totalBytes });
    },
    { concurrency: PARALLEL },
  );
}

/** Copies the log of a table, version by version: its readers always find a whole version. */
async function copyLog(
  from: Lake,
  to: Lake,
  plan: TablePlan,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = plan.table;
  const commits = new Set(plan.commits);
  // A log that begins after version 0 can be read from its first checkpoint on.
  const isBegun = (await listLog(to.storage, name)).newest >= 0;
  const versions = [...new Set([...plan.commits, ...plan.checkpoints.keys()])].sort((a, b) => a - b);
  for (const version of versions) {
    signal?.throwIfAborted();
    const checkpoint = plan.checkpoints.get(version) ?? [];
    const isFirst = !isBegun && version > 0 && version === versions[0];
    if (isFirst) for (const file of checkpoint) await copyFile(from, to, file, signal);
    if (commits.has(version)) await copyCommit(from, to, commitFile(name, version));
    if (!isFirst) for (const file of checkpoint) await copyFile(from, to, file, signal);
  }
  const newest = [...plan.checkpoints.keys()].at(-1);
  if (newest === undefined || !plan.hasLastCheckpoint) return;
  // The source's file may name a newer checkpoint by now, which is not part of the copy.
  const text = await from.storage.readText(lastCheckpointFile(name));
  const isSame = new RegExp(`"version"\\s*:\\s*${newest}\\b`).test(text ?? "");
  if (isSame) await to.storage.put(lastCheckpointFile(name), text as string);
}

async function copyCommit(from: Lake, to: Lake, path: string): Promise<void> {
  const text = await from.storage.readText(path);
  if (text === undefined)
    throw new LakeError(`${from.location}/${path} is gone, which was there when the copy began`, {
      hint: "run the copy again: it continues",
    });
  if (await to.storage.putIfAbsent(path, text)) return;
  if ((await to.storage.readText(path)) === text) return;
  throw new LakeError(`${to.location}/${path}: another program commits to the destination`, {
    hint: "copy to a place that nothing else writes to",
  });
}

/** Files of rejects and of learned limits that the destination lacks. The rejects of a run never change. */
async function filesOutsideTables(from: Lake, to: Lake): Promise<CopiedFile[]> {
  const found: CopiedFile[] = [];
  for (const folder of [REJECTS, LIMITS]) {
    const there = new Map((await to.storage.walk(folder)).map(({ path, size }) => [path, size]));
    for (const { path, size } of await from.storage.walk(folder)) {
      // The limits in the destination may be newer. Damaged responses, in a folder of the rejects, remain on their
      // machine.
      const isKnown = folder === LIMITS ? there.has(path) : there.get(path) === size;
      if (!path.includes("/") && !isKnown) found.push({ path: `${folder}/${path}`, size });
    }
  }
  return found;
}

/** @throws {UsageError} where the destination has files that no lake has: it may be the wrong place. */
async function expectOwn({ storage }: Lake): Promise<void> {
  const known = new Set<string>([...OWN, ...TABLES.map(({ name }) => name)]);
  const other = (await storage.list("")).find((name) => !known.has(name) && !name.startsWith(DATABASE));
  if (other === undefined) return;
  throw new UsageError(`${storage.location} is not empty, and no lake: it has ${other}`, {
    hint: "name an empty folder or prefix",
  });
}

function bytesOf(files: readonly CopiedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}
