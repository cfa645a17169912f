import { ident } from "../../db/quote.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { subjectOf } from "../../schema/reference.js";
import type { Run } from "../run/run.js";

/** The current rows of a table of reference data. @param where a condition on them. */
export async function currentRows<T>(run: Run, table: TableSchema, where = "true"): Promise<T[]> {
  const { session, lake } = run.context;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const numbers = table.columns.flatMap(({ name, type }) =>
    type === "int64" ? [`CAST(${ident(name)} AS DOUBLE) AS ${ident(name)}`] : [],
  );
  const columns = numbers.length === 0 ? "*" : `* REPLACE (${numbers.join(", ")})`;
  return session.json<T>(
    `SELECT ${columns} FROM (${files}) WHERE valid_to IS NULL AND ${where} ORDER BY ${subjectOf(table).join(", ")}`,
  );
}
