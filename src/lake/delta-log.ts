import { randomUUID } from "node:crypto";
import { LakeError, messageOf } from "../core/errors.js";
import type { Column, TableSchema } from "../schema/column.js";
import { type Action, type AddFile, type FileStats, type MetaData, PROTOCOL } from "./delta-actions.js";
import { checkMetaData, checkProtocol, checkWritable } from "./delta-protocol.js";
import { columnsOfSchema, schemaString } from "./delta-schema.js";
import type { Storage } from "./storage.js";

/** A live data file of a table. */
export interface DataFile {
  /** Relative to the table's folder, as on disk. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly stats: FileStats | undefined;
}

/** A table as one version of its log has it. */
export interface Snapshot {
  readonly table: TableSchema;
  /** -1 where the table has no commit yet. */
  readonly version: number;
  /** The table's columns, those included that deliveries added to the declared ones. */
  readonly columns: readonly Column[];
  readonly files: ReadonlyMap<string, DataFile>;
  /** Files that were removed, by path, and when (epoch ms): older versions have them still. */
  readonly removed: ReadonlyMap<string, number>;
  readonly metaData: MetaData | undefined;
  readonly txns: ReadonlyMap<string, number>;
  /** Epoch milliseconds of the newest commit, where it tells. */
  readonly committedAt: number | undefined;
}

/** A snapshot that commits are being applied to. */
type Draft = { -readonly [Key in keyof Snapshot]: Snapshot[Key] } & {
  files: Map<string, DataFile>;
  removed: Map<string, number>;
  txns: Map<string, number>;
};

/** One commit of a table's log. */
export interface Commit {
  readonly version: number;
  readonly actions: readonly Action[];
}

const logFolder = (table: string): string => `${table}/_delta_log`;
const logFile = (table: string, version: number): string =>
  `${logFolder(table)}/${String(version).padStart(20, "0")}.json`;

/** The table before its first commit. */
export function emptySnapshot(table: TableSchema): Snapshot {
  return {
    table,
    version: -1,
    columns: table.columns,
    files: new Map(),
    removed: new Map(),
    metaData: undefined,
    txns: new Map(),
    committedAt: undefined,
  };
}

/**
 * Reads a table's log from where `known` stands to its end, or to where `isIncluded` first says no.
 *
 * @throws {LakeError} when an entry is missing, is not readable, or asks for what this version does not know.
 */
export async function readLog(
  storage: Storage,
  known: Snapshot,
  isIncluded: (commit: Commit) => boolean = () => true,
): Promise<Snapshot> {
  let draft: Draft | undefined;
  for await (const one of commitsOf(storage, known.table.name, known.version + 1)) {
    if (!isIncluded(one)) break;
    draft ??= draftOf(known);
    applyCommit(draft, one);
  }
  return draft ?? known;
}

/** A table's commits from a version on, oldest first. @throws {LakeError} */
export async function* commitsOf(storage: Storage, table: string, start = 0): AsyncGenerator<Commit> {
  if (start === 0) await checkStart(storage, table);
  for (let version = start; ; version++) {
    const text = await storage.readText(logFile(table, version));
    if (text === undefined) return;
    yield { version, actions: parseCommit(table, version, text) };
  }
}

/** When a commit was made, in epoch milliseconds, where it tells. */
export function commitTime({ actions }: Commit): number | undefined {
  const info = actions.find((action) => "commitInfo" in action);
  return info?.commitInfo.timestamp;
}

/**
 * Commits actions as the version after `base`.
 *
 * @returns the table afterwards, or undefined when another writer has taken that version: then nothing was committed.
 * @throws {LakeError} for a table whose own rules this version cannot keep.
 */
export async function commit(
  storage: Storage,
  base: Snapshot,
  actions: readonly Action[],
): Promise<Snapshot | undefined> {
  checkWritable(base.table.name, base.metaData, actions);
  const version = base.version + 1;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const done = await storage.putIfAbsent(logFile(base.table.name, version), text);
  if (!done) return undefined;
  const draft = draftOf(base);
  applyCommit(draft, { version, actions });
  return draft;
}

/** The actions that a table's first commit begins with, or that change its columns. */
export function schemaActions(base: Snapshot, columns: readonly Column[], now: number): Action[] {
  const { table, metaData } = base;
  const next: MetaData = {
    id: metaData?.id ?? randomUUID(),
    name: table.name,
    description: table.doc,
    format: { provider: "parquet", options: {} },
    schemaString: schemaString(columns),
    partitionColumns: table.partition,
    configuration: metaData?.configuration ?? {},
    createdTime: metaData?.createdTime ?? now,
  };
  return base.version < 0 ? [{ protocol: PROTOCOL }, { metaData: next }] : [{ metaData: next }];
}

/** A data file's path as the log writes it. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/").replaceAll("%3D", "=");
}

async function checkStart(storage: Storage, table: string): Promise<void> {
  const names = await storage.list(logFolder(table));
  if (names.length === 0 || names.includes(`${"0".repeat(20)}.json`)) return;
  throw new LakeError(`table ${table}: its log does not begin at version 0`, {
    hint: `${logFolder(table)} was cut; restore its oldest entries from a backup`,
  });
}

function parseCommit(table: string, version: number, text: string): Action[] {
  try {
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as Action);
  } catch (cause) {
    throw new LakeError(`table ${table}: ${logFile(table, version)} is not readable: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function draftOf(snapshot: Snapshot): Draft {
  const { files, removed, txns } = snapshot;
  return { ...snapshot, files: new Map(files), removed: new Map(removed), txns: new Map(txns) };
}

function applyCommit(draft: Draft, one: Commit): void {
  const { name } = draft.table;
  for (const action of one.actions) {
    if ("add" in action) {
      const file = dataFileOf(name, action.add);
      draft.files.set(file.path, file);
      draft.removed.delete(file.path);
    } else if ("remove" in action) {
      const path = decodeURIComponent(action.remove.path);
      draft.files.delete(path);
      draft.removed.set(path, action.remove.deletionTimestamp);
    } else if ("txn" in action) draft.txns.set(action.txn.appId, action.txn.version);
    else if ("metaData" in action) {
      checkMetaData(name, action.metaData);
      draft.metaData = action.metaData;
      draft.columns = columnsOfSchema(name, action.metaData.schemaString);
    } else if ("protocol" in action) checkProtocol(name, action.protocol);
  }
  draft.version = one.version;
  draft.committedAt = commitTime(one);
}

/** The data file that an action adds. @throws {LakeError} where rows of it are marked as gone. */
export function dataFileOf(table: string, add: AddFile): DataFile {
  const path = decodeURIComponent(add.path);
  if (add.deletionVector !== undefined && add.deletionVector !== null) {
    throw new LakeError(`table ${table}: ${path} has a deletion vector, which this version does not read`);
  }
  return {
    path,
    partitionValues: add.partitionValues,
    size: add.size,
    stats: add.stats === undefined ? undefined : (JSON.parse(add.stats) as FileStats),
  };
}
