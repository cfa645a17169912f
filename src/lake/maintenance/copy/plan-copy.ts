import { LakeError, UsageError } from "../../../core/errors.js";
import type { TableSchema } from "../../../schema/column.js";
import { isOutside, type Lake } from "../../lake.js";
import { commitFile, type LogFiles, lastCheckpointFile, listLog } from "../../log/log-files.js";
import type { StoredFile } from "../../storage/storage.js";
import { isDataFile } from "../vacuum.js";
import type { CopiedFile } from "./copy-file.js";

/** What is to be copied of a table, up to one version. */
export interface TablePlan {
  readonly table: TableSchema;
  /** The version that the destination has afterwards. */
  readonly version: number;
  /** Data files that the destination lacks, including those that only older versions have. */
  readonly files: readonly CopiedFile[];
  /** Paths of the version's own data files, relative to the lake. */
  readonly live: ReadonlySet<string>;
  /** Number of data files that the destination already has. */
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
export async function planTable(from: Lake, to: Lake, table: TableSchema): Promise<TablePlan | undefined> {
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
