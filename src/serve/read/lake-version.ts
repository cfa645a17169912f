import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import type { TableSchema } from "../../schema/column.js";
import type { FileVerifier } from "./file-verifier.js";
import type { SessionPool } from "./session-pool.js";

/** The lake for one request: every table stays at the version that the request read first. */
export class LakeVersion {
  readonly #lake: Lake;
  readonly #read: Lake["snapshot"];
  readonly #pool: SessionPool;
  readonly #verifier: FileVerifier | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #snapshots: Map<string, Promise<Snapshot>>;

  /**
   * @param read reads a table's newest snapshot.
   * @param verifier verifies the files that are read; undefined: they are not verified.
   * @param signal stops this request's statements.
   */
  constructor(
    lake: Lake,
    read: Lake["snapshot"],
    pool: SessionPool,
    verifier: FileVerifier | undefined,
    signal?: AbortSignal,
    snapshots = new Map<string, Promise<Snapshot>>(),
  ) {
    this.#lake = lake;
    this.#read = read;
    this.#pool = pool;
    this.#verifier = verifier;
    this.#signal = signal;
    this.#snapshots = snapshots;
  }

  /** The same version, for work that several requests share: the end of one request does not stop it. */
  get shared(): LakeVersion {
    return new LakeVersion(this.#lake, this.#read, this.#pool, this.#verifier, undefined, this.#snapshots);
  }

  /** The table as of the request's first use of it; the log is checked for newer entries at most once. */
  snapshot(table: TableSchema): Promise<Snapshot> {
    const known = this.#snapshots.get(table.name);
    if (known !== undefined) return known;
    const read = this.#read(table);
    this.#snapshots.set(table.name, read);
    return read;
  }

  /** Runs `use` with a connection that no other request uses at the same time. */
  query<T>(use: (session: Session) => Promise<T>): Promise<T> {
    return this.#pool.use(use, this.#signal);
  }

  /** A SELECT of all columns of a table over some of its files. @throws {LakeError} for a damaged file. */
  async relation(session: Session, snapshot: Snapshot, files: Iterable<DataFile>): Promise<string> {
    const read = [...files];
    await this.#verifier?.verify(snapshot, read);
    return parquetRelation(session, this.#lake.filesOf(snapshot, read));
  }
}

/** The versions of some tables as a text, which changes whenever one of the tables may have changed. */
export function versionsOf(snapshots: readonly Snapshot[]): string {
  return snapshots
    .map(({ table, version, metaData }) => `${table.name}:${metaData?.id}:${version}`)
    .join(" ");
}

/** The versions of some tables as JSON, for the metadata of a response: `{"bars_1d":7}`. */
export async function versionsText(version: LakeVersion, tables: readonly TableSchema[]): Promise<string> {
  const snapshots = await Promise.all(tables.map((table) => version.snapshot(table)));
  return JSON.stringify(Object.fromEntries(snapshots.map((one) => [one.table.name, one.version])));
}
