import type { RecordBatch } from "apache-arrow";
import type { Bindings } from "../db/session/session.js";
import type { Lake, PointInTime } from "./lake.js";
import { openReader } from "./open-reader.js";

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
