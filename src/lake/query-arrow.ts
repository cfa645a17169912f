import type { RecordBatch } from "apache-arrow";
import type { Bindings } from "../db/session.js";
import type { Lake, PointInTime } from "./lake.js";
import { openReader } from "./publish.js";

/** What {@link queryArrow} takes besides the query. */
export interface ArrowQueryOptions {
  /** Values of the query's parameters. */
  readonly bindings?: Bindings;
  /** The lake as it stood then. @default as it stands now */
  readonly pointInTime?: PointInTime;
  /** Verifies the data files that the query reads: a damaged one ends the batches with an error. @default true */
  readonly verify?: boolean;
}

/**
 * Runs a query over a lake's views and gives its rows as Arrow's record batches of some 64k rows, as DuckDB computes them:
 * whatever the result's size, memory holds a batch. An empty result is one batch without rows, which tells the columns.
 *
 * @throws {QueryError} when the query fails, and {@link UsageError} for a column that Arrow has no counterpart of, when the
 * first batch is asked for or later. @throws {LakeError} behind the last batch, where a file that was read is damaged.
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
