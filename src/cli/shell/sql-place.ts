import type { QueryError } from "../../core/errors.js";
import type { Catalog } from "../../db/catalog.js";
import type { QueryEngine } from "../../db/query-engine.js";
import type { PlainValue, RowReader } from "../../db/result/row-reader.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { readersWork, type WorkFolder } from "../../lake/local/work-folder.js";
import { type QueryProgress, queryProgress } from "../query-progress.js";

export interface SqlPlace {
  /** What is asked, for the first line of a shell: a lake and where it is, for example. */
  readonly title: string;
  readonly engine: QueryEngine;
  readonly progress: QueryProgress;
  readonly work: Pick<WorkFolder, "newFile" | "discard">;
  /** The names that SQL currently knows. A running statement is not disturbed. */
  readonly catalog: () => Promise<Catalog>;
  /** Runs `use` with a DuckDB session and a query there that gives the rows of `sql`, to be written as a file. */
  readonly withRows: <T>(sql: string, use: (session: Session, query: string) => Promise<T>) => Promise<T>;
  /** The error, with a hint that names what may have been meant. */
  readonly withProposals: (error: QueryError) => Promise<QueryError>;
}

export function lakePlace(session: Session, lake: Lake): SqlPlace {
  return {
    title: `lake ${lake.location}`,
    engine: session,
    progress: queryProgress(session),
    work: readersWork(lake.work),
    catalog: async () => {
      const { readCatalog } = await import("../../db/read-catalog.js");
      using sibling = await session.sibling();
      return await readCatalog(sibling);
    },
    withRows: (sql, use) => use(session, sql),
    withProposals: async (error) => (await import("./completion.js")).withProposals(session, error),
  };
}

interface FirstRows {
  readonly reader: RowReader;
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
