import type { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import type { Lake } from "../../src/lake/lake.js";
import type { TableSchema } from "../../src/schema/column.js";

/** Creates a native table from a lake's table: the same rows and columns, in the order of the files. */
export async function makeNativeTable(
  session: Session,
  lake: Lake,
  table: TableSchema,
  name: string,
): Promise<void> {
  const snapshot = await lake.snapshot(table);
  const files = [...snapshot.files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const [index, file] of files.entries()) {
    const rows = await parquetRelation(session, lake.filesOf(snapshot, [file]));
    await session.run(index === 0 ? `CREATE TABLE ${name} AS ${rows}` : `INSERT INTO ${name} ${rows}`);
  }
}
