import { Session } from "../db/session/session.js";
import type { SessionOptions } from "../db/session/session-options.js";
import { createUserViews } from "../db/views/views.js";
import { verifyReads } from "./files/verify/verify-reads.js";
import type { Lake, PointInTime } from "./lake.js";
import { createLakeViews, type ReadableTables, readableTables, viewsKey } from "./lake-views.js";
import { spillOptions } from "./local/work-folder.js";
import type { SegmentPlace } from "./segments/segment-folder.js";
import { type AttachedCopy, attachSqlCopy } from "./sql-copy/attach-sql-copy.js";
import { type SqlCopyFile, sqlCopyFile } from "./sql-copy/sql-copy.js";

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
   * Where this machine stores copies for SQL. If there is a copy of the state that is read, the views read it.
   *
   * @default no copy is used
   */
  readonly copies?: SegmentPlace | undefined;
}

/** A database with a lake's views. Disposing it closes its session. */
export interface Reader extends ReadableTables, Disposable {
  readonly session: Session;
  /** The copy for SQL that the views read, if they read one. */
  readonly copy: AttachedCopy | undefined;
  /** The copy for SQL that the views would have read if it existed. */
  readonly missingCopy: SqlCopyFile | undefined;
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
  let copy: AttachedCopy | undefined;
  const dispose = (): void => {
    session.close();
    copy?.[Symbol.dispose]();
  };
  try {
    // A data file never changes once it has its name, so DuckDB may cache its footer.
    await session.run("SET parquet_metadata_cache = true");
    const stated = copies && sqlCopyFile(tables.snapshots, copies, viewsKey());
    copy = stated && (await attachSqlCopy(session, stated));
    const found = await createLakeViews(session, lake, tables, statement, copy !== undefined);
    if (statement === undefined) await addUserViews(session, lake);
    if (verify) await verifyReads(session, lake, found.snapshots);
    const missingCopy = copy === undefined ? stated : undefined;
    return { session, ...found, copy, missingCopy, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Creates the user's own views. @returns whether all of them could be created. */
export async function addUserViews(session: Session, { userViews }: Lake): Promise<boolean> {
  if (userViews === undefined) return true;
  const faults = await createUserViews(session, userViews.folder);
  for (const fault of faults) userViews.onFault(fault);
  return faults.length === 0;
}
