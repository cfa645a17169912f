import { randomUUID } from "node:crypto";
import { LakeError, messageOf } from "../core/errors.js";
import type { Column } from "../schema/column.js";
import { CHECKPOINT_INTERVAL, readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { parseActions } from "./commit-text.js";
import { type Action, type MetaData, PROTOCOL } from "./delta-actions.js";
import { checkWritable } from "./delta-protocol.js";
import { schemaString } from "./delta-schema.js";
import { commitFile, type LogFiles, listLog, missingEntry, RESTORE_HINT } from "./log-files.js";
import { type Commit, commitTime, Draft, type Snapshot } from "./snapshot.js";
import type { Storage } from "./storage.js";

/** How much of a log is read. */
export interface LogRange {
  /** The newest version that is wanted. @default the newest there is */
  readonly version?: number | undefined;
  /** Only what was committed by then, in epoch milliseconds. */
  readonly asOf?: number | undefined;
  /** Reads every commit, though a checkpoint would be quicker: it does not tell of what was removed long ago. */
  readonly whole?: boolean;
}

/**
 * Reads a table's log from where `known` stands to its end, or to the end of the range: from the newest checkpoint
 * where that helps.
 *
 * @throws {LakeError} when an entry is missing, is not readable, or asks for what this version does not know.
 */
export async function readLog(storage: Storage, known: Snapshot, range: LogRange = {}): Promise<Snapshot> {
  const { name } = known.table;
  const log = known.version < 0 ? await listLog(storage, name) : undefined;
  const draft = new Draft(known);
  let { version } = known;
  if (log !== undefined) {
    const start = await startOf(storage, name, log, range);
    if (start !== undefined) {
      draft.apply(start);
      version = start.version;
    }
  }
  let stopped = false;
  for await (const one of commitsOf(storage, name, version + 1)) {
    stopped = !isWithin(one, range);
    if (stopped) break;
    draft.apply(one);
    ({ version } = one);
  }
  const newest = log?.commits.at(-1) ?? -1;
  if (!stopped && version < newest) throw missingEntry(name, version + 1);
  return version === known.version ? known : draft.finish();
}

/** A table's commits from a version on, oldest first. @throws {LakeError} */
export async function* commitsOf(storage: Storage, table: string, start: number): AsyncGenerator<Commit> {
  for (let version = start; ; version++) {
    const one = await readCommit(storage, table, version);
    if (one === undefined) return;
    yield one;
  }
}

/**
 * Commits actions as the version after `base`; every {@link CHECKPOINT_INTERVAL} commits a checkpoint follows.
 *
 * @param now epoch milliseconds.
 * @returns the table afterwards, or undefined when another writer has taken that version: then nothing was committed.
 * @throws {LakeError} for a table whose own rules this version cannot keep.
 */
export async function commit(
  storage: Storage,
  base: Snapshot,
  actions: readonly Action[],
  now: number,
): Promise<Snapshot | undefined> {
  checkWritable(base.table.name, base.metaData, actions);
  const version = base.version + 1;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const done = await storage.putIfAbsent(commitFile(base.table.name, version), text);
  if (!done) return undefined;
  const draft = new Draft(base);
  draft.apply({ version, actions });
  const after = draft.finish();
  // The commit stands, whatever becomes of the checkpoint: the log is whole without it.
  if (version > 0 && version % CHECKPOINT_INTERVAL === 0)
    await writeCheckpoint(storage, after, now).catch(() => undefined);
  return after;
}

/** Set in the configuration of a table that got more columns when it had files already. */
const COLUMNS_ADDED = "barlake.columnsAdded";

/** Whether a table's files may differ in their columns. */
export function hasMixedFiles({ table, columns, metaData }: Snapshot): boolean {
  const isEvolved = metaData?.configuration[COLUMNS_ADDED] === "true";
  return isEvolved || columns.length !== table.columns.length;
}

/** The actions that a table's first commit begins with, or that change its columns. */
export function schemaActions(base: Snapshot, columns: readonly Column[], now: number): Action[] {
  const { table, metaData } = base;
  const configuration = { ...metaData?.configuration };
  if (base.version >= 0) configuration[COLUMNS_ADDED] = "true";
  const next: MetaData = {
    id: metaData?.id ?? randomUUID(),
    name: table.name,
    description: table.doc,
    format: { provider: "parquet", options: {} },
    schemaString: schemaString(columns),
    partitionColumns: table.partition,
    configuration,
    createdTime: metaData?.createdTime ?? now,
  };
  return base.version < 0 ? [{ protocol: PROTOCOL }, { metaData: next }] : [{ metaData: next }];
}

/** The checkpoint to begin with: the newest one that is readable and within the range. Undefined: the first commit. */
async function startOf(
  storage: Storage,
  table: string,
  { commits, checkpoints }: LogFiles,
  range: LogRange,
): Promise<Commit | undefined> {
  if (commits.length === 0 && checkpoints.length === 0) return undefined;
  const isWhole = commits[0] === 0;
  const { version: last = Number.POSITIVE_INFINITY } = range;
  let unreadable: unknown;
  for (const checkpoint of isWhole && range.whole ? [] : checkpoints.toReversed()) {
    if (checkpoint.version > last || !(await wasCommittedBy(storage, table, checkpoint.version, range.asOf)))
      continue;
    try {
      const { version, actions } = await readCheckpoint(storage, table, checkpoint);
      const one = await readCommit(storage, table, version);
      return { version, actions: [...actions, ...(one?.actions.filter((a) => "commitInfo" in a) ?? [])] };
    } catch (error) {
      unreadable ??= error;
    }
  }
  if (isWhole) return undefined;
  throw (
    unreadable ??
    new LakeError(
      `table ${table}: its log begins neither at version 0 nor with a checkpoint that is old enough`,
      {
        hint: `restore ${commitFile(table, 0)} and what follows from a backup`,
      },
    )
  );
}

async function wasCommittedBy(
  storage: Storage,
  table: string,
  version: number,
  asOf: number | undefined,
): Promise<boolean> {
  if (asOf === undefined) return true;
  const one = await readCommit(storage, table, version);
  return one !== undefined && isWithin(one, { asOf });
}

function isWithin(one: Commit, { version = one.version, asOf }: LogRange): boolean {
  if (one.version > version) return false;
  return asOf === undefined || (commitTime(one) ?? Number.NEGATIVE_INFINITY) <= asOf;
}

/**
 * Reads one commit of a table's log; undefined where there is none.
 *
 * @throws {LakeError} when it is not readable.
 */
export async function readCommit(
  storage: Storage,
  table: string,
  version: number,
): Promise<Commit | undefined> {
  const path = commitFile(table, version);
  const unreadable = (cause: unknown): LakeError =>
    new LakeError(`table ${table}: ${path} is not readable: ${messageOf(cause)}`, {
      hint: RESTORE_HINT,
      cause,
    });
  const text = await storage.readText(path).catch((error: unknown) => {
    throw typeof (error as NodeJS.ErrnoException).code === "string" ? unreadable(error) : error;
  });
  if (text === undefined) return undefined;
  try {
    return { version, actions: parseActions(text) };
  } catch (cause) {
    throw unreadable(cause);
  }
}
