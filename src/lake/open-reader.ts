import type { RecordBatch } from "apache-arrow";
import type { SessionOptions } from "../db/session/open-database.js";
import { type Bindings, Session } from "../db/session/session.js";
import { createUserViews } from "../db/views/views.js";
import { verifyReads } from "./files/verify-content.js";
import type { Lake, PointInTime } from "./lake.js";
import { createLakeViews, type ReadableTables, readableTables, viewsKey } from "./lake-views.js";
import { spillOptions } from "./local/work-folder.js";
import type { Snapshot } from "./log/snapshot.js";
import type { SegmentPlace } from "./segments/segment-folder.js";
import { type AttachedCopy, attachSqlCopy } from "./sql-copy/attach-sql-copy.js";
import { nextSettlement } from "./sql-copy/copied-months.js";
import { asksFor, type SqlCopyFile, sqlCopyFiles } from "./sql-copy/sql-copy.js";

/** How a lake is read. */
export interface ReaderOptions extends SessionOptions {
  /**
   * Creates only those of the lake's own views that this statement mentions, and the views that they need. This takes a
   * tenth of the time. @default all views, including the user's own
   */
  readonly statement?: string;
  /**
   * Verifies the data files that statements read, each once in this process, before a result counts as whole. The error
   * names the damaged file. Each file is read once more for it, at about 1 GB/s. @default true
   */
  readonly verify?: boolean;
  /**
   * Where this machine stores copies for SQL. If there are copies of the state that is read, the views read these.
   *
   * @default no copy is used
   */
  readonly copies?: SegmentPlace | undefined;
}

/** A database with a lake's views. Disposing it closes its session. */
export interface Reader extends ReadableTables, Disposable {
  readonly session: Session;
  /** The copies for SQL that the views read. */
  readonly copies: readonly AttachedCopy[];
  /**
   * The copies for SQL that the views would have read if they existed, and those of months that have settled since the
   * reader was opened.
   */
  readonly missingCopies: readonly SqlCopyFile[];
}

/**
 * Opens a database with a lake's views at the newest version of each table, or at a point in time. A table that cannot
 * be read is listed in `refused`; only queries of its view fail, with the table's name and the reason.
 */
export async function openReader(
  lake: Lake,
  { statement, verify = true, copies, ...options }: ReaderOptions = {},
  pointInTime: PointInTime = {},
): Promise<Reader> {
  const tables = await readableTables(lake, pointInTime);
  const session = await Session.open({ ...spillOptions(lake.work), ...lake.access, ...options });
  const attached: AttachedCopy[] = [];
  const stated = statedCopies(lake, tables.snapshots, copies, statement);
  const dispose = (): void => {
    session.close();
    for (const copy of attached) copy[Symbol.dispose]();
  };
  try {
    // A data file never changes once it has its name, so DuckDB may cache its footer, for siblings of the session, too.
    await session.run("SET GLOBAL parquet_metadata_cache = true");
    for (const file of stated()) {
      const copy = await attachSqlCopy(session, file);
      if (copy !== undefined) attached.push(copy);
    }
    const found = await createLakeViews(session, lake, tables, statement, attached);
    if (statement === undefined) await addUserViews(session, lake);
    if (verify) await verifyReads(session, lake, found.snapshots);
    return {
      session,
      ...found,
      copies: attached,
      get missingCopies() {
        return stated().filter(({ path }) => attached.every(({ file }) => file.path !== path));
      },
      [Symbol.dispose]: dispose,
    };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** The copies for SQL of a state that a statement may read, now. They are found again only when a month has settled. */
function statedCopies(
  lake: Lake,
  snapshots: readonly Snapshot[],
  place: SegmentPlace | undefined,
  statement: string | undefined,
): () => readonly SqlCopyFile[] {
  let stated: readonly SqlCopyFile[] = [];
  let until = Number.NEGATIVE_INFINITY;
  return () => {
    const now = lake.clock.now();
    if (place !== undefined && now >= until) {
      const files = sqlCopyFiles(snapshots, place, viewsKey(), now);
      stated = files.filter(({ kind }) => statement === undefined || asksFor(kind, statement));
      until = nextSettlement(snapshots, now);
    }
    return stated;
  };
}

/** Creates the user's own views. @returns whether all of them could be created. */
export async function addUserViews(session: Session, { userViews }: Lake): Promise<boolean> {
  if (userViews === undefined) return true;
  const faults = await createUserViews(session, userViews.folder);
  for (const fault of faults) userViews.onFault(fault);
  return faults.length === 0;
}

/** Options of {@link queryArrow}. */
export interface ArrowQueryOptions {
  /** Values of the query's parameters. */
  readonly bindings?: Bindings;
  /** The point in time to read. @default the newest version of each table */
  readonly pointInTime?: PointInTime;
  /**
   * Whether to verify the data files that the query reads: a damaged one ends the batches with an error. @default true
   */
  readonly verify?: boolean;
}

/**
 * Runs a query over a lake's views and yields its rows as Arrow record batches of about 64k rows while DuckDB computes
 * them. One batch is in memory at a time, so the result may have any size. An empty result is one batch with the
 * columns and no rows.
 *
 * @throws {QueryError} when the query fails, at the first batch or later.
 * @throws {UsageError} for a column type without an Arrow counterpart, at the first batch or later.
 * @throws {LakeError} after the last batch, where a file that was read is damaged.
 */
export async function* queryArrow(
  lake: Lake,
  sql: string,
  { bindings, pointInTime = {}, verify = true }: ArrowQueryOptions = {},
): AsyncGenerator<RecordBatch, void, undefined> {
  const { session } = await openReader(lake, { verify }, pointInTime);
  using reader = session;
  yield* await reader.batches(sql, bindings);
}
