import { expect, test } from "vitest";
import { cellsAfter, cellsNeeded, cellsWithParameters } from "../../src/notebook/cell-links.js";
import { parseNotebook } from "../../src/notebook/parse/parse-notebook.js";

const notebook = (...cells: readonly string[]) =>
  parseNotebook(cells.map((cell) => `-- %%\n${cell}\n`).join(""), "a.sql");

const CELLS = notebook(
  "SELECT 1 AS nothing;",
  "CREATE OR REPLACE TEMP TABLE picked AS SELECT 2 AS a;",
  'CREATE VIEW IF NOT EXISTS "Odd" AS FROM picked;',
  "WITH more AS (SELECT 3) INSERT INTO picked FROM more;",
  "SET VARIABLE rate = 4;",
  "FROM PICKED;",
  "SELECT getvariable('rate');",
  'FROM "odd" JOIN memory.main.picked USING (a);',
).cells;

test.each<[number, readonly number[]]>([
  [0, [0]],
  [2, [1, 2]],
  [3, [1, 3]],
  [5, [1, 3, 5]],
  [6, [4, 6]],
  [7, [1, 2, 3, 7]],
])("cell %i needs the cells before it that made what it mentions", (shown, needed) => {
  expect(cellsNeeded(CELLS, new Set([shown]))).toEqual(new Set(needed));
});

test.each<[number, readonly number[]]>([
  [0, []],
  [1, [2, 3, 5, 7]],
  [3, [5, 7]],
  [4, [6]],
  [9, []],
])("after cell %i the cells run again that mention what it made", (at, after) => {
  expect([...cellsAfter(CELLS, at)]).toEqual(after);
});

test("a view and a macro read what was changed after them", () => {
  const { cells } = notebook(
    "CREATE TABLE t AS SELECT 1 AS a;",
    "CREATE MACRO total() AS (SELECT sum(a) FROM t);",
    "CREATE VIEW v AS SELECT total() AS a;",
    "INSERT INTO t VALUES (2);",
    "FROM v;",
    "INSERT INTO t VALUES (3);",
  );
  expect(cellsNeeded(cells, new Set([4]))).toEqual(new Set([0, 1, 2, 3, 4]));
  expect([...cellsAfter(cells, 3)]).toEqual([4, 5]);
});

test("a change whose name does not show makes all that follows depend on it", () => {
  const { cells } = notebook("SELECT 1;", "ALTER;", "SELECT 2;");
  expect([...cellsAfter(cells, 1)]).toEqual([2]);
  expect(cellsNeeded(cells, new Set([2]))).toEqual(new Set([1, 2]));
});

test("the cells of a parameter mention it, or a parameter or a table that was made of it", () => {
  const { cells, parameters } = parseNotebook(
    `-- %% param days = 3
-- %% param twice = $days * 2
-- %% param side = 'a'
-- %%
SELECT $side, 1 AS days;
-- %%
CREATE TABLE t AS SELECT $twice AS n;
-- %%
FROM t;
-- %%
SELECT getvariable('days');
`,
    "a.sql",
  );
  expect([...cellsWithParameters(cells, parameters, ["days"])]).toEqual([1, 2, 3]);
  expect([...cellsWithParameters(cells, parameters, ["side"])]).toEqual([0]);
  expect([...cellsWithParameters(cells, parameters, [])]).toEqual([]);
});
