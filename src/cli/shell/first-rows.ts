import type { QueryEngine, Rows } from "../../db/query-engine.js";
import type { PlainValue } from "../../db/result/row-reader.js";

/** The beginning of a result. */
export interface FirstRows {
  /** Reads the rows that follow. */
  readonly reader: Rows;
  readonly rows: PlainValue[][];
  readonly hasMore: boolean;
}

/** Runs a statement and reads its first rows; the files that they come from were checked. @param limit by the number of columns. */
export async function readFirstRows(
  engine: QueryEngine,
  sql: string,
  limit: (columns: number) => number,
): Promise<FirstRows> {
  const reader = await engine.read(sql);
  const rows = await reader.take(limit(reader.columns.length));
  const hasMore = await reader.hasMore();
  await engine.checkReads();
  return { reader, rows, hasMore };
}
