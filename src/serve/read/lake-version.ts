import { LakeError } from "../../core/errors.js";
import { type Known, knownRowsSql } from "../../db/market/known-sql.js";
import { ident, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { versionsOf } from "../../lake/by-version.js";
import { hashInName } from "../../lake/files/data-file.js";
import { rowsOfFiles, runningFiles } from "../../lake/files/prune.js";
import {
  damageError,
  damageOf,
  damageSinceVerified,
  type FileDamage,
  unreadable,
} from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import type { SegmentReader } from "../../lake/segments/segment-reader.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import type { SessionPool } from "./session-pool.js";

/** Least number of rows for which footers are read: fewer rows are read quickly in any case. */
const LEAST_ROWS = 4_000_000;
/** Most files whose footers are read. */
const MOST_FILES = 100;

/**
 * Finds columns that have only nulls in all files of a read, such as the open interest of stocks. DuckDB takes a sixth of the
 * time of a read for three of them. The footers of files have the numbers of nulls; the log has them for few columns.
 */
export class NullColumns {
  readonly #lake: Lake;
  readonly #leastRows: number;
  /** Names of the columns without a value, by file. A file never changes. */
  readonly #known = new WeakMap<DataFile, ReadonlySet<string>>();

  constructor(lake: Lake, leastRows = LEAST_ROWS) {
    this.#lake = lake;
    this.#leastRows = leastRows;
  }

  /**
   * The same SELECT, which does not read columns without a value. Footers of other programs are not relied on.
   *
   * @param relation a SELECT of all columns of a table over files.
   */
  async without(
    relation: string,
    session: Session,
    snapshot: Snapshot,
    files: readonly DataFile[],
  ): Promise<string> {
    const nullable = snapshot.columns.filter((column) => column.nullable === true);
    const isWorthwhile =
      nullable.length > 0 &&
      files.length <= MOST_FILES &&
      files.every(({ path }) => hashInName(path) !== undefined) &&
      // Each footer of a store is a request.
      this.#lake.storage.access === undefined &&
      Number.isFinite(rowsOfFiles(files)) &&
      rowsOfFiles(files) >= this.#leastRows;
    if (!isWorthwhile) return relation;
    await this.#read(
      session,
      snapshot,
      files.filter((file) => !this.#known.has(file)),
    );
    const nulls = nullable.filter(({ name }) =>
      files.every((file) => this.#known.get(file)?.has(name) === true),
    );
    if (nulls.length === 0) return relation;
    const replaced = nulls.map(({ name, type }) => `CAST(NULL AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`);
    return `SELECT * REPLACE (${replaced.join(", ")}) FROM (${relation})`;
  }

  async #read(session: Session, snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    if (files.length === 0) return;
    const urls = files.map((file) => this.#lake.urlOf(snapshot, file));
    // A row group without statistics has no number of nulls, so the sum is too small.
    const rows = await session.json<{ url: string; name: string }>(
      `SELECT file_name AS url, path_in_schema AS name FROM parquet_metadata(${literalList(urls)})
       GROUP BY ALL HAVING sum(stats_null_count) = sum(num_values)`,
    );
    for (const [index, file] of files.entries()) {
      const own = rows.filter(({ url }) => url === urls[index]);
      this.#known.set(file, new Set(own.map(({ name }) => name)));
    }
  }
}

interface DamagedFile {
  readonly error: LakeError;
  readonly stamp: string;
}

/**
 * Compares the files that requests read with the hashes in their names. Each file is verified once, before its first
 * read, so that no response has rows of a damaged file. A damaged file is reported, and requests that need it fail
 * until it is restored.
 */
export class FileVerifier {
  readonly #lake: Lake;
  readonly #onDamage: (error: LakeError) => void;
  /** Verified files, by object: the snapshots of a table share the objects of their files. */
  readonly #seen = new WeakSet<DataFile>();
  /** Verifications by path, in progress or finished. Requests for the same file share them. */
  readonly #known = new Map<string, Promise<void>>();
  readonly #damaged = new Map<string, DamagedFile>();
  #isClosed = false;

  /** @param onDamage called once for each damaged file. */
  constructor(lake: Lake, onDamage: (error: LakeError) => void) {
    this.#lake = lake;
    this.#onDamage = onDamage;
  }

  /**
   * Verifies files that a request is about to read, one after another.
   *
   * @param signal ends this before the next file that is not verified yet.
   * @throws {LakeError} for a file that is damaged and was not restored, or that cannot be read now. The next request
   *   verifies such a file again.
   */
  async verify(snapshot: Snapshot, files: readonly DataFile[], signal?: AbortSignal): Promise<void> {
    for (const file of files) {
      if (this.#seen.has(file)) continue;
      signal?.throwIfAborted();
      const path = pathOf(snapshot, file);
      let verifying = this.#known.get(path);
      if (verifying === undefined) {
        if (this.#isClosed) throw new LakeError(`table ${snapshot.table.name}: the service is closing`);
        verifying = this.#verifyOne(snapshot, file);
        this.#known.set(path, verifying);
      }
      await verifying;
    }
    if (this.#damaged.size === 0) return;
    for (const file of files) {
      const known = this.#damaged.get(pathOf(snapshot, file));
      if (known !== undefined && !(await this.#isPutBack(snapshot, file, known))) throw known.error;
    }
  }

  /** Starts no further verification, and waits for the running ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#known.values());
  }

  async #verifyOne(snapshot: Snapshot, file: DataFile): Promise<void> {
    const stamp = await this.#stampOf(snapshot, file);
    const damage = await damageSinceVerified(this.#lake, snapshot, file).catch(unreadable);
    if (damage?.kind === "damaged") this.#found(snapshot, file, damage, stamp);
    // A missing file makes the request fail that reads it. It is verified once it is restored.
    if (damage === undefined || damage.kind === "damaged") {
      this.#seen.add(file);
      return;
    }
    this.#known.delete(pathOf(snapshot, file));
    // A file that cannot be read now does not count as verified: it may be readable later.
    if (damage.kind === "unreadable") throw damageError(snapshot, file, damage);
  }

  #found(snapshot: Snapshot, file: DataFile, { what }: FileDamage, stamp: string): void {
    const hint = "restore it from a backup, or run barlake repair";
    const error = new LakeError(`table ${snapshot.table.name}: ${file.path} ${what}`, { hint });
    this.#damaged.set(pathOf(snapshot, file), { error, stamp });
    this.#onDamage(error);
  }

  /** Whether a damaged file was replaced by a sound one. */
  async #isPutBack(snapshot: Snapshot, file: DataFile, known: DamagedFile): Promise<boolean> {
    const stamp = await this.#stampOf(snapshot, file);
    if (stamp === known.stamp) return false;
    if ((await damageOf(this.#lake, snapshot, file)) !== undefined) return false;
    this.#damaged.delete(pathOf(snapshot, file));
    return true;
  }

  /** A text that changes whenever the file does. */
  async #stampOf(snapshot: Snapshot, file: DataFile): Promise<string> {
    // The log of another program can name a file by a path that does not exist on this machine.
    const found = await this.#lake.factsOf(snapshot, file).catch(() => undefined);
    return found?.tag ?? "";
  }
}

function pathOf({ table }: Snapshot, { path }: DataFile): string {
  return `${table.name}/${path}`;
}

/** The instant at which visible rows were known, epoch milliseconds. */
interface Visible extends Known {
  readonly knownAt: number;
}

interface LakeSource {
  readonly lake: Lake;
  readonly read: Lake["snapshot"];
  readonly pool: SessionPool;
  /** Verifies the files that are read. Undefined: files are not verified. */
  readonly verifier: FileVerifier | undefined;
  /** Reads bars from segments. Undefined: all bars are read from data files. */
  readonly segments: SegmentReader | undefined;
  readonly nullColumns: NullColumns;
  /** When visible rows were known. Undefined: all rows are visible. */
  readonly known: Visible | undefined;
}

/**
 * The lake for one request: every table has the version that the request read first, and has only the rows that are
 * visible at its as-of time. All rows are read through {@link LakeVersion.relation}.
 */
export class LakeVersion {
  readonly #source: LakeSource;
  readonly #signal: AbortSignal | undefined;
  readonly #snapshots: Map<string, Promise<Snapshot>>;

  /** @param signal stops this request's statements. */
  constructor(source: LakeSource, signal?: AbortSignal, snapshots = new Map<string, Promise<Snapshot>>()) {
    this.#source = source;
    this.#signal = signal;
    this.#snapshots = snapshots;
  }

  /** The same version, for work that several requests share: the end of one request does not stop this work. */
  get shared(): LakeVersion {
    return new LakeVersion(this.#source, undefined, this.#snapshots);
  }

  /** The same version with all rows, for data that is derived once from all rows and shown only in part. */
  get whole(): LakeVersion {
    return new LakeVersion({ ...this.#source, known: undefined }, undefined, this.#snapshots);
  }

  /** Reads bars from segments. They contain all rows of a version, including rows that are not visible. */
  get segments(): SegmentReader | undefined {
    return this.#source.segments;
  }

  /** Rows after this instant (epoch milliseconds) are not visible. Undefined: all rows are visible. */
  get visibleUntil(): number | undefined {
    return this.#source.known?.knownAt;
  }

  /** Whether reference data counts as known before it was first seen. */
  get assumesReference(): boolean {
    return this.#source.known?.assumesReference ?? false;
  }

  /** The table at the version of the request's first use of it. The log is checked for newer entries at most once. */
  snapshot(table: TableSchema): Promise<Snapshot> {
    const known = this.#snapshots.get(table.name);
    if (known !== undefined) return known;
    const read = this.#source.read(table);
    this.#snapshots.set(table.name, read);
    return read;
  }

  /** Runs `use` with a connection that no other request uses at the same time. */
  query<T>(use: (session: Session) => Promise<T>): Promise<T> {
    return this.#source.pool.use(use, this.#signal);
  }

  /**
   * A SELECT of all columns of a table over the visible rows of some of its files. Where only a part of the rows is
   * visible, a SELECT of daily bars needs the CTE `requested` with the column `symbol`.
   *
   * @throws {LakeError} for a damaged file.
   */
  async relation(session: Session, snapshot: Snapshot, files: Iterable<DataFile>): Promise<string> {
    const whole = await this.#allRows(session, snapshot, files);
    const { known } = this.#source;
    if (known === undefined) return whole;
    const { table } = snapshot;
    const minutes = table === BARS_1D ? await this.#runningMinutes(session, known.knownAt) : undefined;
    const running = minutes === undefined ? undefined : { minutes, symbols: "SELECT symbol FROM requested" };
    return knownRowsSql(table, whole, known, running);
  }

  async #allRows(session: Session, snapshot: Snapshot, files: Iterable<DataFile>): Promise<string> {
    const read = [...files];
    const { lake, verifier, nullColumns } = this.#source;
    await verifier?.verify(snapshot, read, this.#signal);
    const relation = await parquetRelation(session, lake.filesOf(snapshot, read));
    return nullColumns.without(relation, session, snapshot, read);
  }

  /** SQL of the minutes of days that are not final; it may return other minutes of the same files, too. */
  async #runningMinutes(session: Session, until: number): Promise<string> {
    const snapshot = await this.snapshot(BARS_1M);
    return this.#allRows(session, snapshot, runningFiles(snapshot, until));
  }

  /**
   * A text that identifies the versions of some tables and which rows are visible. It changes whenever visible rows may
   * have changed.
   */
  async stateOf(tables: readonly TableSchema[]): Promise<string> {
    const { visibleUntil } = this;
    // The daily bars of running days are computed from minutes.
    const read = visibleUntil !== undefined && tables.includes(BARS_1D) ? [...tables, BARS_1M] : tables;
    const versions = versionsOf(await Promise.all(read.map((table) => this.snapshot(table))));
    return visibleUntil === undefined ? versions : `${versions} until ${visibleUntil}`;
  }
}

/** The versions of some tables as JSON, for the metadata of a response: `{"bars_1d":7}`. */
export async function versionsText(version: LakeVersion, tables: readonly TableSchema[]): Promise<string> {
  const snapshots = await Promise.all(tables.map((table) => version.snapshot(table)));
  const landed = snapshots.filter(({ version: one }) => one >= 0);
  return JSON.stringify(Object.fromEntries(landed.map((one) => [one.table.name, one.version])));
}
