import type { Session } from "../../src/db/session/session.js";
import { writeDataFile } from "../../src/lake/files/data-file.js";
import type { Lake } from "../../src/lake/lake.js";
import { commit } from "../../src/lake/log/commit.js";
import { commitInfoAction, schemaActions } from "../../src/lake/log/commit-actions.js";
import type { TableSchema } from "../../src/schema/column.js";

/**
 * Commits a data file with any rows, also with rows that a landing would set aside.
 *
 * @param rows a SELECT of the table's columns except those of the partition.
 */
export async function addFile(
  session: Session,
  lake: Lake,
  table: TableSchema,
  rows: string,
  partition: Readonly<Record<string, string>>,
): Promise<void> {
  const base = await lake.snapshot(table);
  const add = await writeDataFile(session, lake, base, rows, partition, { as: "landed", now: 0 });
  const actions = [
    commitInfoAction({ operation: "TEST", runId: "test", now: 0 }, {}),
    ...(base.version < 0 ? schemaActions(base, base.columns, 0) : []),
    { add },
  ];
  const after = await commit(lake, base, actions, 0);
  if (after === undefined) throw new TypeError("another writer is in the test's lake");
  lake.remember(after);
}
