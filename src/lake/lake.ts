import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LakeError } from "../core/errors.js";
import type { ParquetFiles } from "../db/parquet-relation.js";
import type { TableSchema } from "../schema/column.js";
import { TABLES } from "../schema/tables.js";
import { hashInName } from "./files/data-file.js";
import { isInItsFolder } from "./files/partition-folder.js";
import { hasMixedFiles, readLog } from "./log/delta-log.js";
import { type DataFile, emptySnapshot, type Snapshot } from "./log/snapshot.js";
import { localStorage, STAGING, type Storage } from "./storage/storage.js";

/** A moment of a lake's past; a table that has neither stands as it does now. */
export interface PointInTime {
  /** Epoch milliseconds: the newest version that was committed by then. */
  readonly asOf?: number | undefined;
  /** Versions of single tables, by name; they go before `asOf`. */
  readonly versions?: ReadonlyMap<string, number>;
}

/** Views of the user's own, laid over those of the lake. */
export interface UserViews {
  /** Folder of their `*.sql` files; it need not exist. */
  readonly folder: string;
  /** Told of each file that could not be applied; the other views are laid all the same. */
  readonly onFault: (error: Error) => void;
}

/** A lake: a folder of Delta tables, and the newest version of each that this process has seen. */
export class Lake {
  /** Absolute path of the lake's folder. */
  readonly folder: string;
  readonly storage: Storage;
  /** Undefined: only the lake's own views are laid. */
  readonly userViews: UserViews | undefined;
  /** Whether landings write `lake.duckdb`, the views for other DuckDB clients. */
  readonly hasDatabase: boolean;
  readonly #known = new Map<string, Snapshot>();

  /** @param options.hasDatabase @default true */
  constructor(
    folder: string,
    options: { readonly userViews?: UserViews; readonly hasDatabase?: boolean } = {},
  ) {
    this.folder = resolve(folder);
    this.userViews = options.userViews;
    this.hasDatabase = options.hasDatabase ?? true;
    this.storage = localStorage(this.folder);
  }

  /** The table as its log stands now; what was read before is not read again. @throws {LakeError} */
  async snapshot(table: TableSchema): Promise<Snapshot> {
    const snapshot = await readLog(this.storage, this.#known.get(table.name) ?? emptySnapshot(table));
    this.remember(snapshot);
    return snapshot;
  }

  /**
   * The table as it stood at a moment: without a commit where it was not there yet.
   *
   * @throws {LakeError} for a version that does not exist, or whose files a vacuum has deleted.
   */
  async snapshotAt(table: TableSchema, { asOf, versions }: PointInTime): Promise<Snapshot> {
    const version = versions?.get(table.name);
    if (version === undefined && asOf === undefined) return this.snapshot(table);
    const range = version === undefined ? { asOf } : { version };
    const snapshot = await readLog(this.storage, emptySnapshot(table), range);
    if (version === undefined || snapshot.version === version) {
      await this.#checkFiles(snapshot);
      return snapshot;
    }
    throw new LakeError(`table ${table.name}: version ${version} does not exist`, {
      hint: snapshot.version < 0 ? "the table has none yet" : `its newest is ${snapshot.version}`,
    });
  }

  async #checkFiles({ table, version, files }: Snapshot): Promise<void> {
    const stored = new Set((await this.storage.walk(table.name)).map(({ path }) => path));
    const gone = [...files.keys()].find((path) => !isOutside(path) && !stored.has(path));
    if (gone === undefined) return;
    throw new LakeError(`table ${table.name}: version ${version} can no longer be read: ${gone} is gone`, {
      hint: "a vacuum deletes what only old versions have",
    });
  }

  /** Every table as it stands now, or stood at a moment. */
  async snapshots(pointInTime: PointInTime = {}): Promise<Snapshot[]> {
    return Promise.all(TABLES.map((table) => this.snapshotAt(table, pointInTime)));
  }

  /** Reads tables as they stand whenever it is asked, or as they stood at a moment: these are read once. */
  reader(pointInTime: PointInTime): (table: TableSchema) => Promise<Snapshot> {
    const past = new Map<string, Promise<Snapshot>>();
    return (table) => {
      if (pointInTime.asOf === undefined && pointInTime.versions?.has(table.name) !== true)
        return this.snapshot(table);
      const known = past.get(table.name) ?? this.snapshotAt(table, pointInTime);
      past.set(table.name, known);
      return known;
    };
  }

  /** The table as its whole log has it, what was removed long ago included. @throws {LakeError} */
  async wholeSnapshot(table: TableSchema): Promise<Snapshot> {
    return readLog(this.storage, emptySnapshot(table), { whole: true });
  }

  /** Takes note of a version that this process committed. */
  remember(snapshot: Snapshot): void {
    this.#known.set(snapshot.table.name, snapshot);
  }

  /** Some of a table's files, or all live ones, as a source for SQL. */
  filesOf(snapshot: Snapshot, files: Iterable<DataFile> = snapshot.files.values()): ParquetFiles {
    const all = [...files];
    const urlsOf = (some: readonly DataFile[]): string[] =>
      some.map((file) => this.urlOf(snapshot, file)).sort();
    return {
      table: snapshot.table,
      columns: snapshot.columns,
      urls: urlsOf(all),
      isMixed: hasMixedFiles(snapshot),
      foreign: urlsOf(all.filter(({ path }) => hashInName(path) === undefined)),
      loose: new Map(
        all
          .filter((file) => !isInItsFolder(snapshot.table, file))
          .map((file) => [this.urlOf(snapshot, file), file.partitionValues]),
      ),
    };
  }

  /** Where DuckDB finds a data file. The log may name one outside the lake, by its whole path. */
  urlOf(snapshot: Snapshot, file: DataFile): string {
    if (isOutside(file.path))
      return file.path.startsWith("file://") ? fileURLToPath(encodeURI(file.path)) : file.path;
    return this.storage.urlOf(`${snapshot.table.name}/${file.path}`);
  }

  /** The database of views that any DuckDB client can open. */
  get databaseFile(): string {
    return join(this.folder, "lake.duckdb");
  }

  /** Where spilled and staged data goes: outside every table. */
  get stagingFolder(): string {
    return join(this.folder, STAGING);
  }
}

/** Whether a data file's path leads out of its table: the protocol permits whole paths. */
export function isOutside(path: string): boolean {
  return path.startsWith("file://") || isAbsolute(path);
}

/** The lake in a folder, with its own views. Nothing is read yet. */
export function openLake(folder: string): Lake {
  return new Lake(folder);
}

/** Rows of a snapshot, from the log's statistics. */
export function rowCount(snapshot: Snapshot): number {
  let rows = 0;
  for (const file of snapshot.files.values()) rows += file.stats?.numRecords ?? 0;
  return rows;
}

/** Bytes of a snapshot's files. */
export function byteCount(snapshot: Snapshot): number {
  let bytes = 0;
  for (const file of snapshot.files.values()) bytes += file.size;
  return bytes;
}
