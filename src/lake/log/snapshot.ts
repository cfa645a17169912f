import { createHash } from "node:crypto";
import { LakeError } from "../../core/errors.js";
import { type Column, columnOf, type TableSchema } from "../../schema/column.js";
import {
  type Action,
  type AddFile,
  checkMetaData,
  checkProtocol,
  columnsOfSchema,
  type FileStats,
  type MetaData,
  type Protocol,
  type RemoveFile,
  type Txn,
} from "./delta-actions.js";

/** The form in which the lake writes an instant: these texts sort as the instants do. */
const OWN_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** An instant in the protocol's form: a text without a zone is not an instant. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * The statistics of a data file, with instants in the lake's form, whose texts sort as the instants do. Other writers
 * may write an instant without milliseconds, with microseconds, or with an offset from UTC.
 *
 * @param text JSON of a file's `stats`.
 */
function readStats(table: TableSchema, text: string): FileStats {
  const stats = JSON.parse(text) as FileStats;
  const instants = table.stats.filter((name) => columnOf(table, name).type === "timestamp");
  const { minValues, maxValues } = stats;
  const isOwn = [minValues, maxValues].every((values) =>
    instants.every((name) => values?.[name] === undefined || OWN_INSTANT.test(values[name])),
  );
  if (isOwn) return stats;
  return {
    ...stats,
    ...(minValues && { minValues: withOwnInstants(minValues, instants) }),
    ...(maxValues && { maxValues: withOwnInstants(maxValues, instants) }),
  };
}

/** The values with their instants in the lake's form. An instant that cannot be read is left out. */
function withOwnInstants(
  values: Readonly<Record<string, string>>,
  instants: readonly string[],
): Readonly<Record<string, string>> {
  const own = { ...values };
  for (const name of instants) {
    const text = String(own[name]);
    const at = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(at)) delete own[name];
    else own[name] = new Date(at).toISOString();
  }
  return own;
}

/** A live data file of a table. */
export interface DataFile {
  /** Relative to the table's folder, as on disk. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  /** When it was written, in epoch milliseconds. */
  readonly writtenAt: number;
  /**
   * The log's statistics of the rows; undefined where there are none. Reading this member throws where they are
   * damaged.
   */
  readonly stats: FileStats | undefined;
  /** Facts about the file from its writer, by name. */
  readonly tags?: Readonly<Record<string, string>>;
}

/** The state of a table at one version of its log. */
export interface Snapshot {
  readonly table: TableSchema;
  /** -1 where the table has no commit yet. */
  readonly version: number;
  /**
   * The newest version whose rows or columns may differ from those of the version before. Compaction changes neither.
   */
  readonly dataVersion: number;
  /**
   * Identifies the newest commit: its version and a digest of its text. Two snapshots of a table with the same text are
   * the same version of the same history. A table that was replaced, by a backup for example, may have another commit
   * under the same version.
   */
  readonly commitId: string;
  /** The same of the commit of {@link dataVersion}: two snapshots with the same text have the same rows and columns. */
  readonly dataId: string;
  /** The table's columns, including those that deliveries added to the declared ones. */
  readonly columns: readonly Column[];
  /** Live files, by path. */
  readonly files: ReadonlyMap<string, DataFile>;
  /** Removed files, by path: older versions still have them. A checkpoint leaves out files removed long ago. */
  readonly removed: ReadonlyMap<string, RemoveFile>;
  readonly protocol: Protocol | undefined;
  readonly metaData: MetaData | undefined;
  /** Landed responses by identity, and by name how far jobs have come. */
  readonly txns: ReadonlyMap<string, Txn>;
  /** Time of the newest commit in epoch milliseconds; undefined where the commit does not state it. */
  readonly committedAt: number | undefined;
}

export interface Commit {
  readonly version: number;
  readonly actions: readonly Action[];
  /** See {@link textDigest}; undefined for a checkpoint whose commit another program has deleted. */
  readonly digest: string | undefined;
}

export function textDigest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

/** @param digest of the commit's text; without one, the commit is that of the table as its metadata names it. */
export function commitIdOf(
  version: number,
  digest: string | undefined,
  metaData: MetaData | undefined,
): string {
  return `${version}:${digest ?? metaData?.id ?? ""}`;
}

/** The table before its first commit. */
export function emptySnapshot(table: TableSchema): Snapshot {
  return {
    table,
    version: -1,
    dataVersion: -1,
    commitId: "",
    dataId: "",
    columns: table.columns,
    files: new Map(),
    removed: new Map(),
    protocol: undefined,
    metaData: undefined,
    txns: new Map(),
    committedAt: undefined,
  };
}

/**
 * Whether a snapshot follows an earlier one: it has the same history, as it was read on from there. It is false, too,
 * where the metadata has changed, and where the log was read from its start again.
 */
export function isReadOn(earlier: Snapshot, later: Snapshot): boolean {
  return later.metaData === earlier.metaData;
}

/** A copy of a snapshot to which actions are applied; the original does not change. */
export class Draft {
  readonly #table: TableSchema;
  readonly #files: Map<string, DataFile>;
  readonly #removed: Map<string, RemoveFile>;
  readonly #txns: Map<string, Txn>;
  #version: number;
  #dataVersion: number;
  #commitId: string;
  #dataId: string;
  #columns: readonly Column[];
  #protocol: Protocol | undefined;
  #metaData: MetaData | undefined;
  #committedAt: number | undefined;

  constructor(base: Snapshot) {
    this.#table = base.table;
    this.#files = new Map(base.files);
    this.#removed = new Map(base.removed);
    this.#txns = new Map(base.txns);
    this.#version = base.version;
    this.#dataVersion = base.dataVersion;
    this.#commitId = base.commitId;
    this.#dataId = base.dataId;
    this.#columns = base.columns;
    this.#protocol = base.protocol;
    this.#metaData = base.metaData;
    this.#committedAt = base.committedAt;
  }

  get table(): TableSchema {
    return this.#table;
  }

  get version(): number {
    return this.#version;
  }

  /** Applies a commit. @throws {LakeError} for features that this version does not support. */
  apply(commit: Commit): void {
    const { version, actions, digest } = commit;
    for (const action of actions) this.#act(action);
    this.#commitId = commitIdOf(version, digest, this.#metaData);
    // The first version always counts: the files of a checkpoint, with which a log may begin, are not marked as changed
    // data.
    if (this.#version < 0 || actions.some(changesData)) {
      this.#dataVersion = version;
      this.#dataId = this.#commitId;
    }
    this.#version = version;
    this.#committedAt = commitTime(commit);
  }

  /** The snapshot; nothing may be applied afterwards. */
  finish(): Snapshot {
    return {
      table: this.#table,
      version: this.#version,
      dataVersion: this.#dataVersion,
      commitId: this.#commitId,
      dataId: this.#dataId,
      columns: this.#columns,
      files: this.#files,
      removed: this.#removed,
      protocol: this.#protocol,
      metaData: this.#metaData,
      txns: this.#txns,
      committedAt: this.#committedAt,
    };
  }

  #act(action: Action): void {
    const { name } = this.#table;
    if ("add" in action) {
      const file = dataFileOf(this.#table, action.add);
      this.#files.set(file.path, file);
      this.#removed.delete(file.path);
    } else if ("remove" in action) {
      const path = decodePath(action.remove.path);
      this.#files.delete(path);
      this.#removed.set(path, action.remove);
    } else if ("txn" in action) {
      if (isUndone(action.txn)) this.#txns.delete(action.txn.appId);
      else this.#txns.set(action.txn.appId, action.txn);
    } else if ("metaData" in action) {
      checkMetaData(name, action.metaData);
      this.#metaData = action.metaData;
      this.#columns = columnsOfSchema(name, action.metaData.schemaString);
    } else if ("protocol" in action) {
      checkProtocol(name, action.protocol);
      this.#protocol = action.protocol;
    }
  }
}

/** Whether a record says that what it names is no longer in the table: a restore has undone it. */
export function isUndone({ version }: Txn): boolean {
  return version < 0;
}

function changesData(action: Action): boolean {
  if ("add" in action) return isChange(action.add);
  if ("remove" in action) return isChange(action.remove);
  return "metaData" in action;
}

/** Whether a file action changes data. Other writers may leave out `dataChange`, which then counts as true. */
function isChange({ dataChange }: Partial<Pick<AddFile, "dataChange">>): boolean {
  return dataChange !== false;
}

/** When a commit was made, in epoch milliseconds; undefined where it does not state it. */
export function commitTime({ actions }: Commit): number | undefined {
  const info = actions.find((action) => "commitInfo" in action);
  return info?.commitInfo.timestamp;
}

/** The data file that an action adds. @throws {LakeError} where rows of it are marked as deleted. */
export function dataFileOf(table: TableSchema, add: AddFile): DataFile {
  const file = new LoggedFile(table, add);
  if (add.deletionVector === undefined || add.deletionVector === null) return file;
  throw new LakeError(
    `table ${table.name}: ${file.path} has a deletion vector, which this version does not read`,
  );
}

/** The add action of a live file, as written in the log. */
export function addActionOf(file: DataFile): AddFile {
  if (file instanceof LoggedFile) return file.add;
  throw new TypeError(`${file.path} is not from a log`);
}

/** A data file whose statistics are parsed on first use: most files of a large table never need it. */
class LoggedFile implements DataFile {
  readonly path: string;
  readonly add: AddFile;
  readonly #table: TableSchema;
  #stats: FileStats | undefined;

  constructor(table: TableSchema, add: AddFile) {
    this.path = decodePath(add.path);
    this.add = add;
    this.#table = table;
  }

  get partitionValues(): Readonly<Record<string, string | null>> {
    return this.add.partitionValues;
  }

  get size(): number {
    return this.add.size;
  }

  get writtenAt(): number {
    return this.add.modificationTime;
  }

  get tags(): Readonly<Record<string, string>> {
    return this.add.tags ?? {};
  }

  get stats(): FileStats | undefined {
    const { stats } = this.add;
    if (stats === undefined || stats === null) return undefined;
    try {
      this.#stats ??= readStats(this.#table, stats);
    } catch (cause) {
      throw new LakeError(`${this.path}: its statistics in the log are not JSON`, {
        hint: "restore the table's _delta_log from a backup; barlake check shows which entry it is",
        cause,
      });
    }
    return this.#stats;
  }
}

/** A data file's path as written in the log. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/").replaceAll("%3D", "=");
}

export function decodePath(encoded: string): string {
  return encoded.includes("%") ? decodeURIComponent(encoded) : encoded;
}
