import { describe, expect, test } from "vitest";
import { ident } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { KLINE_COLUMNS } from "../../src/schema/bars.js";
import { columnOf, DUCKDB_TYPE } from "../../src/schema/column.js";
import { TABLES, tableNamed } from "../../src/schema/tables.js";

describe.each(TABLES.map((table) => [table.name, table] as const))("%s", (_, table) => {
  const names: readonly string[] = table.columns.map((column) => column.name);

  test("names each column once, and its key, order, partition and statistics are columns", () => {
    expect(new Set(names).size).toBe(names.length);
    for (const name of [...table.key, ...table.sort, ...table.partition, ...table.stats])
      expect(names).toContain(name);
  });

  test("says what it and every column hold", () => {
    for (const { doc } of [table, ...table.columns]) expect(doc).toMatch(/^\S.*\.$/);
  });

  test("has partition columns that are present and of a type that a path can hold", () => {
    for (const name of table.partition) {
      const column = columnOf(table, name);
      expect(column.nullable ?? false).toBe(false);
      expect(column.type).toBeOneOf(["string", "int32", "date"]);
    }
  });

  test("is a table that DuckDB makes", async () => {
    using session = await Session.open({ threads: 1 });
    const columns = table.columns.map(
      (c) => `${ident(c.name)} ${DUCKDB_TYPE[c.type]}${c.nullable ? "" : " NOT NULL"}`,
    );
    await session.run(`CREATE TABLE ${ident(table.name)} (${columns.join(", ")})`);
    const made = await session.rows<{ column_name: string }>(`DESCRIBE ${ident(table.name)}`);
    expect(made.map((row) => row.column_name)).toEqual(names);
  });
});

test("a table is found by its name, and a column that is not declared throws", () => {
  for (const table of TABLES) expect(tableNamed(table.name)).toBe(table);
  expect(tableNamed("toString")).toBeUndefined();
  expect(() => columnOf(TABLES[0], "nothing")).toThrow(/bars_1d declares no column nothing/);
});

test("the members of Compact K-line data are those of the interface, in its order", () => {
  const members = KLINE_COLUMNS.map(({ name, type, nullable }) => `${name} ${type}${nullable ? "?" : ""}`);
  expect(members).toEqual([
    "open double",
    "high double",
    "low double",
    "close double",
    "volume int64",
    "amount double",
    "open_interest double?",
    "prev_close double?",
    "settlement_price double?",
  ]);
});
