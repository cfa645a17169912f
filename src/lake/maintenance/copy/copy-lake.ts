import pMap from "p-map";
import { LakeError, UsageError } from "../../../core/errors.js";
import { REQUESTS } from "../../../schema/requests.js";
import { RUNS } from "../../../schema/runs.js";
import { TABLES } from "../../../schema/tables.js";
import type { Lake } from "../../lake.js";
import { commitFile, lastCheckpointFile, listLog } from "../../log/log-files.js";
import { type CopiedFile, copyFile } from "./copy-file.js";
import { planTable, type TablePlan } from "./plan-copy.js";

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
