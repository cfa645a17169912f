import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../lake.js";
import type { StagedRows } from "../land/staged-rows.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";

/**
 * Whether live files could contain a key of staged rows, tested for each symbol. A file's own range spans all its
 * symbols, so it also overlaps a new symbol between them, or the next days of each, where no key is shared. This test
 * reads two columns; a comparison of the rows reads all of them.
 *
 * @returns true also for tables whose key does not have exactly two columns: a subject, and its place in an order.
 */
export async function rangesOverlap(
  session: Session,
  lake: Lake,
  base: Snapshot,
  live: readonly DataFile[],
  staged: StagedRows,
): Promise<boolean> {
  const [subject, place, ...others] = base.table.key.map(ident);
  if (place === undefined || others.length > 0) return true;
  const ranges = (rows: string): string =>
    `SELECT ${subject} AS subject, min(${place}) AS least, max(${place}) AS greatest FROM ${rows} GROUP BY ALL`;
  const liveRows = await parquetRelation(session, lake.filesOf(base, live));
  const met = await session.json(
    `SELECT 1 FROM (${ranges(staged.bounds)}) s JOIN (${ranges(`(${liveRows})`)}) l
     ON s.subject = l.subject AND s.least <= l.greatest AND s.greatest >= l.least LIMIT 1`,
  );
  return met.length > 0;
}
