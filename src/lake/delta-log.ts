import { randomUUID } from "node:crypto";
import { LakeError, messageOf } from "../core/errors.js";
import type { Column, TableSchema } from "../schema/column.js";
import {
  type Action,
  type AddFile,
  type FileStats,
  type MetaData,
  PROTOCOL,
  type Txn,
} from "./delta-actions.js";
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
  readonly metaData: MetaData | undefined;
  readonly txns: ReadonlyMap<string, number>;
  /** Epoch milliseconds of the newest commit, where it tells. */
  readonly committedAt: number | undefined;
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
    metaData: undefined,
    txns: new Map(),
    committedAt: undefined,
  };
}

/**
 * Reads a table's log from where `known` stands to its end.
 *
 * @throws {LakeError} when an entry is missing, is not readable, or asks for a newer protocol.
 */
export async function readLog(storage: Storage, known: Snapshot): Promise<Snapshot> {
  const { name } = known.table;
  if (known.version < 0) await checkStart(storage, name);
  let snapshot = known;
  for (let version = known.version + 1; ; version++) {
    const text = await storage.readText(logFile(name, version));
    if (text === undefined) return snapshot;
    snapshot = applyCommit(snapshot, version, parseCommit(name, version, text));
  }
}

/**
 * Commits actions as the version after `base`.
 *
 * @returns the table afterwards, or undefined when another writer has taken that version: then nothing was committed.
 */
export async function commit(
  storage: Storage,
  base: Snapshot,
  actions: readonly Action[],
): Promise<Snapshot | undefined> {
  const version = base.version + 1;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const done = await storage.putIfAbsent(logFile(base.table.name, version), text);
  return done ? applyCommit(base, version, actions) : undefined;
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

function applyCommit(before: Snapshot, version: number, actions: readonly Action[]): Snapshot {
  const { table } = before;
  const files = new Map(before.files);
  const txns = new Map(before.txns);
  let { columns, metaData } = before;
  let committedAt: number | undefined;
  for (const action of actions) {
    if ("add" in action) {
      const file = dataFile(action.add);
      files.set(file.path, file);
    } else if ("remove" in action) files.delete(decodeURIComponent(action.remove.path));
    else if ("txn" in action) applyTxn(txns, action.txn);
    else if ("commitInfo" in action) committedAt = action.commitInfo.timestamp;
    else if ("metaData" in action) {
      metaData = action.metaData;
      columns = columnsOfSchema(table.name, metaData.schemaString);
    } else if ("protocol" in action) {
      const { minReaderVersion, minWriterVersion } = action.protocol;
      if (minReaderVersion > PROTOCOL.minReaderVersion || minWriterVersion > PROTOCOL.minWriterVersion) {
        throw new LakeError(
          `table ${table.name}: its log asks for reader ${minReaderVersion} and writer ${minWriterVersion}; this version knows ${PROTOCOL.minReaderVersion} and ${PROTOCOL.minWriterVersion}`,
        );
      }
    }
  }
  return { table, version, columns, files, metaData, txns, committedAt };
}

function applyTxn(txns: Map<string, number>, txn: Txn): void {
  txns.set(txn.appId, txn.version);
}

function dataFile(add: AddFile): DataFile {
  return {
    path: decodeURIComponent(add.path),
    partitionValues: add.partitionValues,
    size: add.size,
    stats: add.stats === undefined ? undefined : (JSON.parse(add.stats) as FileStats),
  };
}
