import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { createViews, templatePath } from "../../src/db/views/views.js";
import { TEMPLATE } from "../../src/lake/lake-views.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "./temporary-lake.js";

const inText = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

/** All that a user can see of a database's views and macros: names, queries, columns with their types, comments. */
async function catalogOf(session: Session): Promise<Record<string, unknown[]>> {
  const queries = {
    views: `SELECT schema_name, view_name, comment, sql FROM duckdb_views()
      WHERE NOT internal ORDER BY ALL`,
    columns: `SELECT schema_name, table_name, column_name, column_index, data_type, comment FROM duckdb_columns()
      WHERE NOT internal ORDER BY ALL`,
    macros: `SELECT schema_name, function_name, parameters, macro_definition, comment FROM duckdb_functions()
      WHERE NOT internal ORDER BY ALL`,
  };
  const found: Record<string, unknown[]> = {};
  // DuckDB keeps the names of EXCLUDE in no order.
  const sorted = (text: string): string =>
    text.replaceAll(/EXCLUDE \(([^)]*)\)/g, (_, names: string) => names.split(", ").sort().join(", "));
  for (const [name, sql] of Object.entries(queries)) {
    const rows = await session.json(sql);
    found[name] = rows.map((row) => JSON.parse(sorted(JSON.stringify(row, inText))));
  }
  return found;
}

test("views that are copied from the template are those that are created", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-03-06T16:00:00Z" }]);
  const tables = (await lake.snapshots()).map((snapshot) => lake.filesOf(snapshot));
  const template = templatePath(TEMPLATE);
  expect(existsSync(template), "npm run build makes the template").toBe(true);
  const [created, copied] = await Promise.all(
    [undefined, template].map(async (file) => {
      const views = await Session.open({ threads: 1 });
      onTestFinished(() => views.close());
      await createViews(views, tables, { extra: TEMPLATE.extra, template: file });
      return catalogOf(views);
    }),
  );
  expect(Object.values(created ?? {}).map(({ length }) => length > 20)).toEqual([true, true, true]);
  expect(copied).toEqual(created);
});

test("what a statement does not mention is not there, rather than empty", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-03-06T16:00:00Z" }]);
  const { session: reader } = await openReader(lake, { threads: 1, statement: "FROM exchanges" });
  onTestFinished(() => reader.close());
  expect(await reader.json("FROM exchanges")).toEqual([]);
  for (const sql of ["FROM raw.bars_1d", "FROM bars_1d", "FROM raw.tables", "FROM rejects"])
    await expect(reader.json(sql), sql).rejects.toThrow(/Table with name \w+ does not exist/);
});
