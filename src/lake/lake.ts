import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../client/system-clock.js";
import type { Clock } from "../core/time.js";
import type { Known } from "../db/market/known-sql.js";
import type { SessionOptions } from "../db/session/open-database.js";
import type { StorePatience } from "../db/session/store-access.js";
import type { ParquetFiles } from "../db/views/parquet-relation.js";
import { readViewFiles } from "../db/views/view-files.js";
import type { KnownAt } from "../market/known-at.js";
import type { Environment } from "../object-store/access/credential-source.js";
import type { StorePlace } from "../object-store/store-place.js";
import type { TableSchema } from "../schema/column.js";
import { TABLES } from "../schema/tables.js";
import { hashInName, isInItsFolder } from "./files/data-file.js";
import { factsOfFile, readPieces, readRangeOf, unlessMissing } from "./local/local-files.js";
import type { LakePlaces, WorkFolder } from "./local/work-folder.js";
import { hasMixedFiles } from "./log/commit-actions.js";
import { listLog, VersionGone } from "./log/log-files.js";
import { readLog } from "./log/read-log.js";
import { type DataFile, emptySnapshot, type Snapshot } from "./log/snapshot.js";
import { environmentFor, placesOf, type SegmentOptions, segmentPlaceOf, storePlaceOf } from "./places.js";
import type { SegmentPlace } from "./segments/segment-folder.js";
import { type ByteRange, type FileFacts, type Storage, subStorage } from "./storage/storage.js";

/**
 * A point in time of a lake. `asOf` and `versions` say which rows the lake had; a table with neither is read at its newest
 * version. `knownAt` says which of these rows were known to the market: see {@link knownRowsSql}.
 */
export interface PointInTime extends Omit<Known, "knownAt"> {
  /** What was known then: an instant in epoch milliseconds, or a date, whose end it is in each region. @default everything */
  readonly knownAt?: KnownAt | undefined;
  /** Reads the newest version that was committed at or before this time, in epoch milliseconds. */
  readonly asOf?: number | undefined;
  /** Versions of single tables, by name; they take precedence over `asOf`. */
  readonly versions?: ReadonlyMap<string, number> | undefined;
  /**
   * The `commitId` of versions of single tables: a version that has another one, because the lake was replaced, is refused.
   */
  readonly commits?: ReadonlyMap<string, string>;
}

export function knownOf({ knownAt, assumesReference }: PointInTime): Known | undefined {
  return knownAt === undefined ? undefined : { knownAt, assumesReference };
}

/** The user's own views, created over those of the lake. */
export interface UserViews {
  /** Folder of their `*.sql` files; it need not exist. */
  readonly folder: string;
  /** Called for each file that could not be applied; the other views are still created. */
  readonly onFault: (error: Error) => void;
}

/** A table whose log was replaced while a process had read it, by a backup for example. */
export interface ReplacedTable {
  readonly table: string;
  /** The version that was known of the former history. */
  readonly before: number;
  /** The newest version of the history that is read now. */
  readonly version: number;
}

/** What a log or a terminal says of a replaced table. */
export function replacedText({ table, before, version }: ReplacedTable): string {
  return (
    `table ${table}: its log was replaced, as by a backup that is restored: version ${before} was known, and the log ` +
    `that is there now ends with version ${version}. It is read from now on. If nobody has restored a backup, rows may be lost: see barlake check`
  );
}

/** How a lake is opened. */
export interface LakeOptions {
  /** @default only the lake's own views */
  readonly userViews?: UserViews;
  /** Whether landings write `lake.duckdb`. @default true */
  readonly hasDatabase?: boolean;
  /** Where the tables are. @default the storage of the lake's location */
  readonly storage?: Storage;
  /** Where unfinished work is. @default the lake's folder, or for a store a folder of this machine */
  readonly work?: WorkFolder;
  /** Names the credentials of stores, and folders of this machine. @default the environment of the process */
  readonly environment?: Environment;
  /** How long failed requests to a lake in a store are repeated. @default for about a minute */
  readonly patience?: StorePatience;
  /** @default the machine's clock */
  readonly clock?: Clock;
}

/**
 * A lake: Delta tables in a folder or under a prefix of an object store, and the newest version of each that this
 * process has seen.
 */
export class Lake implements LakePlaces {
  readonly storage: Storage;
  readonly work: WorkFolder;
  /** The clock for everything that is not passed a time, for example waits between attempts. */
  readonly clock: Clock;
  /** Undefined where only the lake's own views are created. */
  readonly userViews: UserViews | undefined;
  /** Whether landings write `lake.duckdb`, the views for other DuckDB clients. */
  readonly hasDatabase: boolean;
  readonly #environment: Environment | undefined;
  readonly #known = new Map<string, Snapshot>();
  #replacements = 0;
  readonly #listeners = new Set<(replaced: ReplacedTable) => void>();

  /** @param location a folder's path, or `s3://bucket/prefix`. @throws {UsageError} for another URL. */
  constructor(location: string, options: LakeOptions = {}) {
    this.userViews = options.userViews;
    this.hasDatabase = options.hasDatabase ?? true;
    const places = placesOf(location, options.environment, options.patience);
    this.#environment = options.environment;
    this.storage = options.storage ?? places.storage;
    this.work = options.work ?? places.work;
    this.clock = options.clock ?? systemClock;
  }

  /** The name of the lake in messages and manifests: an absolute path, or a URL. */
  get location(): string {
    return this.storage.location;
  }

  /**
   * The storage of a location. A location within this lake, in a store, uses this lake's connection and credentials;
   * any other is opened with the lake's environment.
   */
  storageAt(location: string): Storage {
    const own = `${this.location}/`;
    if (this.storage.access !== undefined && location.startsWith(own))
      return subStorage(this.storage, location.slice(own.length));
    return placesOf(location, this.#environment).storage;
  }

  /** Where this machine caches segments of the lake's bars; undefined without a cache. */
  segmentPlace(options: SegmentOptions = {}): SegmentPlace | undefined {
    return segmentPlaceOf(this.location, options, this.#environment);
  }

  /** Opens a place of a store, `s3://bucket/prefix`, with the lake's environment. */
  storePlace(url: string): Promise<StorePlace> {
    return storePlaceOf(url, this.#environment);
  }

  /** The environment of another process that opens this lake by its location. */
  get processEnvironment(): Record<string, string> {
    return environmentFor(this.location, this.#environment);
  }

  /** The stores that a session must be able to read to read the lake's files; empty for a lake in a folder. */
  get access(): Pick<SessionOptions, "stores"> {
    return this.storage.access === undefined ? {} : { stores: [this.storage.access] };
  }

  /** The newest version of a table. Commits that were read before are not read again. @throws {LakeError} */
  async snapshot(table: TableSchema): Promise<Snapshot> {
    const known = this.#known.get(table.name);
    const wasEmpty = known?.version === -1;
    let isReplaced = false;
    const onReplaced = (): void => {
      isReplaced = true;
    };
    const snapshot = await readLog(this.storage, known ?? emptySnapshot(table), { wasEmpty, onReplaced });
    // Of several reads at the same time, the first one reports it.
    const isReported = isReplaced && this.#known.get(table.name) === known;
    this.remember(snapshot);
    if (!isReported) return snapshot;
    this.#replacements += 1;
    for (const listener of this.#listeners)
      listener({ table: table.name, before: known?.version ?? -1, version: snapshot.version });
    return snapshot;
  }

  /**
   * How often a read has found that the log of a table was replaced. Tables between whose reads it has changed may be of
   * different histories.
   */
  get replacements(): number {
    return this.#replacements;
  }

  /**
   * Registers a function that is called when a read finds that the log of a table was replaced. What was read before
   * does not count any more, and the read returns the new history.
   *
   * @returns a function that removes it.
   */
  onReplaced(listener: (replaced: ReplacedTable) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The table at a point in time; a snapshot without a commit (version -1) where the table did not exist yet.
   *
   * @throws {VersionGone} for a version that does not exist, or whose files a vacuum has deleted. @throws {LakeError}
   */
  async snapshotAt(table: TableSchema, { asOf, versions, commits }: PointInTime): Promise<Snapshot> {
    const version = versions?.get(table.name);
    if (version === undefined && asOf === undefined) return this.snapshot(table);
    const range = version === undefined ? { asOf } : { version };
    const snapshot = await readLog(this.storage, emptySnapshot(table), range);
    if (version === undefined || snapshot.version === version) {
      if ((commits?.get(table.name) ?? snapshot.commitId) !== snapshot.commitId)
        throw new VersionGone(`table ${table.name}: version ${version} is gone: the lake was replaced`, {
          hint: "as by a backup; it has another version under this number",
        });
      await this.#checkFiles(snapshot);
      return snapshot;
    }
    throw new VersionGone(`table ${table.name}: version ${version} does not exist`, {
      hint: snapshot.version < 0 ? "the table has none yet" : `its newest is ${snapshot.version}`,
    });
  }

  async #checkFiles({ table, version, files }: Snapshot): Promise<void> {
    const stored = new Set((await this.storage.walk(table.name)).map(({ path }) => path));
    const gone = [...files.keys()].find((path) => !isOutside(path) && !stored.has(path));
    if (gone === undefined) return;
    throw new VersionGone(`table ${table.name}: version ${version} can no longer be read: ${gone} is gone`, {
      hint: "a vacuum deletes what only old versions have",
    });
  }

  /** Every table at its newest version, or at a point in time. */
  async snapshots(pointInTime: PointInTime = {}): Promise<Snapshot[]> {
    return Promise.all(TABLES.map((table) => this.snapshotAt(table, pointInTime)));
  }

  /** Makes a function that reads tables: the newest version at each call, or a past version, which is cached. */
  reader(pointInTime: PointInTime): (table: TableSchema) => Promise<Snapshot> {
    const past = new Map<string, Promise<Snapshot>>();
    let replacements = this.#replacements;
    return (table) => {
      if (replacements !== this.#replacements) past.clear();
      replacements = this.#replacements;
      if (pointInTime.asOf === undefined && pointInTime.versions?.has(table.name) !== true)
        return this.snapshot(table);
      const known = past.get(table.name) ?? this.snapshotAt(table, pointInTime);
      past.set(table.name, known);
      return known;
    };
  }

  /** The table, read from its whole log, so that `removed` includes files removed long ago. @throws {LakeError} */
  async wholeSnapshot(table: TableSchema): Promise<Snapshot> {
    return readLog(this.storage, emptySnapshot(table), { whole: true });
  }

  /** Caches the newest version that this process has read or committed. */
  remember(snapshot: Snapshot): void {
    this.#known.set(snapshot.table.name, snapshot);
  }

  /** The given files of a table, by default all live ones, as a source for SQL. */
  filesOf(snapshot: Snapshot, files: Iterable<DataFile> = snapshot.files.values()): ParquetFiles {
    const all = [...files];
    const urlsOf = (some: readonly DataFile[]): string[] =>
      some.map((file) => this.urlOf(snapshot, file)).sort();
    return {
      table: snapshot.table,
      columns: snapshot.columns,
      urls: urlsOf(all),
      isMixed: hasMixedFiles(snapshot),
      isRemote: this.storage.access !== undefined,
      foreign: urlsOf(all.filter(({ path }) => hashInName(path) === undefined)),
      loose: new Map(
        all
          .filter((file) => !isInItsFolder(snapshot.table, file))
          .map((file) => [this.urlOf(snapshot, file), file.partitionValues]),
      ),
    };
  }

  /**
   * The path or URL at which DuckDB reads a data file. The log may name a file outside the lake by its absolute path.
   */
  urlOf(snapshot: Snapshot, file: DataFile): string {
    if (isOutside(file.path))
      return file.path.startsWith("file://") ? fileURLToPath(encodeURI(file.path)) : file.path;
    return this.storage.urlOf(`${snapshot.table.name}/${file.path}`);
  }

  /** Size, time and tag of a data file; undefined where there is none. */
  async factsOf(snapshot: Snapshot, file: DataFile): Promise<FileFacts | undefined> {
    if (isOutside(file.path)) return factsOfFile(this.urlOf(snapshot, file));
    return this.storage.factsOf(`${snapshot.table.name}/${file.path}`);
  }

  /** Opens a data file as {@link Storage.read} does. @returns undefined where there is none. */
  async read(snapshot: Snapshot, file: DataFile): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (isOutside(file.path)) return unlessMissing(() => readPieces(this.urlOf(snapshot, file)));
    return this.storage.read(`${snapshot.table.name}/${file.path}`);
  }

  /** Reads a range of a data file's bytes as {@link Storage.readRange} does. @returns undefined where there is none. */
  async readRange(snapshot: Snapshot, file: DataFile, range: ByteRange): Promise<Buffer | undefined> {
    if (isOutside(file.path)) return unlessMissing(() => readRangeOf(this.urlOf(snapshot, file), range));
    return this.storage.readRange(`${snapshot.table.name}/${file.path}`, range);
  }

  /**
   * Whether runs on other machines may use the tables but not this work folder. Such runs do not see the responses that it
   * has.
   */
  get isShared(): boolean {
    return this.storage.location !== this.work.path;
  }

  /** The path of the database of views that any DuckDB client of this machine can open. */
  get databaseFile(): string {
    return this.work.databaseFile;
  }
}

/**
 * Whether a data file's path is absolute, so that the file is outside the table's folder. The protocol permits that.
 */
export function isOutside(path: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(path) || isAbsolute(path);
}

/** The number of rows of a snapshot, from the statistics in the log. */
export function rowCount(snapshot: Snapshot): number {
  let rows = 0;
  for (const file of snapshot.files.values()) rows += file.stats?.numRecords ?? 0;
  return rows;
}

/** The total size of a snapshot's live files, in bytes. */
export function byteCount(snapshot: Snapshot): number {
  let bytes = 0;
  for (const file of snapshot.files.values()) bytes += file.size;
  return bytes;
}

/**
 * Whether a lake has at least one table: a folder with a log, even a damaged one. A missing or empty folder has none.
 */
export async function hasTables({ storage }: Pick<Lake, "storage">): Promise<boolean> {
  // The logs are listed one after the other: nearly every lake has the first table, and each list costs a request to a
  // store.
  for (const { name } of TABLES) if ((await listLog(storage, name)).newest >= 0) return true;
  return false;
}

/**
 * Whether the user has views of their own. Also true if their folder cannot be read: creating them then reports why.
 */
export function hasUserViews({ userViews }: Lake): boolean {
  try {
    return userViews !== undefined && readViewFiles(userViews.folder).length > 0;
  } catch {
    return true;
  }
}
