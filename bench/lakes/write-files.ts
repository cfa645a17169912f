import type { Session } from "../../src/db/session/session.js";
import { writeDataFile } from "../../src/lake/files/data-file.js";
import type { Lake } from "../../src/lake/lake.js";
import { commit } from "../../src/lake/log/commit.js";
import { commitInfoAction, schemaActions } from "../../src/lake/log/commit-actions.js";
import type { AddFile } from "../../src/lake/log/delta-actions.js";
import type { TableSchema } from "../../src/schema/column.js";

/** A data file to write. */
export interface FileSpec {
  /** A SELECT of all the table's columns except those of the partition. */
  readonly sql: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Writes files of a new table with the lake's own writer, and commits them. */
export async function writeFiles(
  session: Session,
  lake: Lake,
  table: TableSchema,
  files: readonly FileSpec[],
): Promise<void> {
  const base = await lake.snapshot(table);
  const adds: AddFile[] = [];
  for (const { sql, values } of files)
    adds.push(await writeDataFile(session, lake, base, sql, values, { as: "compacted", now: 0 }));
  const actions = [
    commitInfoAction(
      { operation: "BENCHMARK", runId: "benchmark", now: 0 },
      { numInsertedRows: 0, numUpdatedRows: 0 },
    ),
    ...schemaActions(base, base.columns, 0),
    ...adds.map((add) => ({ add })),
  ];
  const after = await commit(lake, base, actions, 0);
  if (after === undefined) throw new TypeError("another writer is in the benchmark's lake");
  lake.remember(after);
}
