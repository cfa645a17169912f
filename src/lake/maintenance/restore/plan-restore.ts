import { LakeError } from "../../../core/errors.js";
import type { Column, TableSchema } from "../../../schema/column.js";
import { verifyOnce } from "../../files/verify/verify-content.js";
import { isOutside, type Lake } from "../../lake.js";
import { readLog } from "../../log/read-log.js";
import { type DataFile, emptySnapshot, type Snapshot } from "../../log/snapshot.js";
import { VersionGone } from "../../log/version-gone.js";
import { restorableVersion } from "./restorable-version.js";

/** What a table becomes again: a version, what it was at a time (epoch milliseconds), or a table without rows. */
export type RestoreTarget =
  | { readonly kind: "version"; readonly version: number }
  | { readonly kind: "time"; readonly asOf: number }
  | { readonly kind: "empty" };

/** How a table becomes what it was. */
export interface RestorePlan {
  /** The version that is replaced. */
  readonly base: Snapshot;
  /** The version whose rows come back; its `version` is -1 where the table becomes empty. */
  readonly target: Snapshot;
  /** Files that only the target has. */
  readonly added: readonly DataFile[];
  /** Files that only the base has. */
  readonly removed: readonly DataFile[];
  /** The columns afterwards: those of the base, and what another program has taken out since. */
  readonly columns: readonly Column[];
}

/**
 * Plans a restore. Nothing is to be done where the base has the rows of the target, also in other files: a compaction
 * is not undone.
 *
 * @param base the table at its newest version.
 * @throws {VersionGone} for a version that does not exist, or of which files are gone. @throws {LakeError} where a
 *   column has another type now.
 */
export async function planRestore(lake: Lake, base: Snapshot, given: RestoreTarget): Promise<RestorePlan> {
  const target = await targetOf(lake, base, given);
  const nothing = { base, target, added: [], removed: [], columns: base.columns };
  if (target.version >= base.dataVersion) return nothing;
  const added = [...target.files.values()].filter(({ path }) => !base.files.has(path));
  const removed = [...base.files.values()].filter(({ path }) => !target.files.has(path));
  if (added.length + removed.length === 0) return nothing;
  await expectStored(lake, base, target);
  return { base, target, added, removed, columns: columnsAfter(base, target) };
}

/** Whether a table has the rows of the target already. */
export function isSettled({ added, removed }: RestorePlan): boolean {
  return added.length + removed.length === 0;
}

/**
 * Makes sure that the files that come back are what was written; each is read once in this process.
 *
 * @throws {LakeError} for the first damaged file.
 */
export async function verifyRestored(
  lake: Lake,
  { target, added }: RestorePlan,
  signal?: AbortSignal,
): Promise<void> {
  try {
    await verifyOnce(lake, target, added, signal);
  } catch (cause) {
    if (!(cause instanceof LakeError)) throw cause;
    throw new LakeError(`${cause.message}; version ${target.version} cannot be restored with it`, {
      hint: `${cause.hint === undefined ? "" : `${cause.hint}; `}barlake history ${target.table.name} lists other versions`,
      cause,
    });
  }
}

/** Files of a snapshot that do not exist, or have another size than the log says. */
export async function goneFiles(
  lake: Lake,
  snapshot: Snapshot,
  files: Iterable<DataFile> = snapshot.files.values(),
): Promise<readonly DataFile[]> {
  const sizes = await storedSizes(lake, snapshot.table);
  const gone: DataFile[] = [];
  for (const file of files) {
    const size = isOutside(file.path) ? (await lake.factsOf(snapshot, file))?.size : sizes.get(file.path);
    if (size !== file.size) gone.push(file);
  }
  return gone;
}

async function storedSizes({ storage }: Lake, { name }: TableSchema): Promise<ReadonlyMap<string, number>> {
  return new Map((await storage.walk(name)).map(({ path, size }) => [path, size]));
}

async function targetOf(
  lake: Lake,
  { table, version: newest }: Snapshot,
  given: RestoreTarget,
): Promise<Snapshot> {
  const before = emptySnapshot(table);
  if (given.kind === "empty") return before;
  if (given.kind === "time") return readLog(lake.storage, before, { asOf: given.asOf });
  const { version } = given;
  if (version >= 0 && version <= newest) return readLog(lake.storage, before, { version });
  throw new VersionGone(`table ${table.name}: version ${version} does not exist`, {
    hint:
      newest < 0
        ? "the table has none yet"
        : `its newest is ${newest}; barlake history ${table.name} lists them, and --empty takes all rows out`,
  });
}

/** @throws {VersionGone} that says how many files of the target are gone, and which version can be restored instead. */
async function expectStored(lake: Lake, base: Snapshot, target: Snapshot): Promise<void> {
  const gone = await goneFiles(lake, target);
  const [first] = gone;
  if (first === undefined) return;
  const { table, version, files } = target;
  const lost = gone.find(({ path }) => base.files.has(path));
  if (lost !== undefined)
    throw new LakeError(
      `table ${table.name}: version ${version} cannot be restored: ${lost.path}, which the newest version has, too, is missing or damaged`,
      { hint: `barlake repair ${table.name} takes it out of the table, or restores it from a copy` },
    );
  const other = await restorableVersion(lake, target);
  const instead =
    other === undefined
      ? "no version between it and the newest one can be restored"
      : `the oldest version after it that can be restored is ${other}: barlake restore ${table.name} --version ${other}`;
  throw new VersionGone(
    `table ${table.name}: version ${version} cannot be restored: ${gone.length} of its ${files.size} files ${gone.length === 1 ? "is" : "are"} gone, such as ${first.path}; nothing was changed`,
    { hint: `a vacuum deletes what only old versions have; ${instead}; a copy of the lake may have more` },
  );
}

/**
 * The newest columns, so that nothing that reads the table misses one; they are null in older files. A column that only
 * the target has is added again.
 */
function columnsAfter(base: Snapshot, target: Snapshot): readonly Column[] {
  if (target.version < 0) return base.columns;
  const missing: Column[] = [];
  for (const column of target.columns) {
    const own = base.columns.find(({ name }) => name === column.name);
    if (own === undefined) missing.push({ ...column, nullable: true });
    else if (own.type !== column.type)
      throw new LakeError(
        `table ${base.table.name}, column ${column.name}: is ${own.type}, and was ${column.type} in version ${target.version}; it cannot be restored`,
        { hint: "another program has changed the table; read the old version with barlake sql --version" },
      );
  }
  return missing.length === 0 ? base.columns : [...base.columns, ...missing];
}
