import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { fileRange } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import type { SegmentReader } from "../../lake/segments/segment-reader.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { runningSince, type Visibility, visibleRowsSql } from "../replay/visible-rows.js";
import type { FileVerifier } from "./file-verifier.js";
import type { NullColumns } from "./null-columns.js";
import type { SessionPool } from "./session-pool.js";

/** What a version is read with. */
export interface LakeSource {
  readonly lake: Lake;
  /** Reads a table's newest snapshot. */
  readonly read: Lake["snapshot"];
  readonly pool: SessionPool;
  /** Verifies the files that are read. Undefined: files are not verified. */
  readonly verifier: FileVerifier | undefined;
  /** Reads bars from segments. Undefined: all bars are read from data files. */
  readonly segments: SegmentReader | undefined;
  readonly nullColumns: NullColumns;
  /** Decides which rows are visible. Undefined: all rows are. */
  readonly visibility: Visibility | undefined;
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
    return new LakeVersion({ ...this.#source, visibility: undefined }, undefined, this.#snapshots);
  }

  /** Reads bars from segments. They contain all rows of a version, including rows that are not visible. */
  get segments(): SegmentReader | undefined {
    return this.#source.segments;
  }

  /** Rows after this instant (epoch milliseconds) are not visible. Undefined: all rows are visible. */
  get visibleUntil(): number | undefined {
    return this.#source.visibility?.until;
  }

  /** Whether reference data counts as known before it was first seen. */
  get assumesReference(): boolean {
    return this.#source.visibility?.assumesReference ?? false;
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
    const { visibility } = this.#source;
    if (visibility === undefined) return whole;
    const { table } = snapshot;
    const minutes = table === BARS_1D ? await this.#runningMinutes(session, visibility.until) : undefined;
    return visibleRowsSql(table, whole, visibility, minutes);
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
    const since = runningSince(until);
    const files = [...snapshot.files.values()].filter((file) => {
      const { start, end } = fileRange(file);
      return start <= until && end > since;
    });
    return this.#allRows(session, snapshot, files);
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

/** The versions of some tables as a text, which changes whenever the rows of one of the tables may have changed. */
export function versionsOf(snapshots: readonly Snapshot[]): string {
  return snapshots.map(({ table, dataId }) => `${table.name}:${dataId}`).join(" ");
}

/** The versions of some tables as JSON, for the metadata of a response: `{"bars_1d":7}`. */
export async function versionsText(version: LakeVersion, tables: readonly TableSchema[]): Promise<string> {
  const snapshots = await Promise.all(tables.map((table) => version.snapshot(table)));
  const landed = snapshots.filter(({ version: one }) => one >= 0);
  return JSON.stringify(Object.fromEntries(landed.map((one) => [one.table.name, one.version])));
}
