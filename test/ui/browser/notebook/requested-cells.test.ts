import { expect, test } from "vitest";
import { parseNotebook } from "../../../../src/notebook/parse/parse-notebook.js";
import { documentOf } from "../../../../src/ui/browser/notebook/notebook-document.js";
import {
  changedNames,
  dependentOn,
  linesOf,
  withDependents,
} from "../../../../src/ui/browser/notebook/use-run.js";

const TEXT = `-- # T
-- %% param days = 3
-- %%
CREATE TABLE t AS SELECT $days AS n;
-- %%
SELECT 1;
-- %%
FROM t;
`;
const document = documentOf(TEXT);
const notebook = parseNotebook(TEXT, "a.sql");
const ids = document.cells.map(({ id }) => id);
const at = (index: number): number => ids[index] ?? -1;

test("with a cell runs what depends on it, and a request names these by their lines", () => {
  const found = withDependents(document, notebook, new Set([at(1)]));
  expect(found).toEqual(new Set([at(1), at(3)]));
  expect(linesOf(document, notebook, found)).toEqual([3, 7]);
  expect(withDependents(document, notebook, new Set([at(2)]))).toEqual(new Set([at(2)]));
});

test("a parameter that has changed runs what depends on it", () => {
  expect(changedNames({ a: "1", b: "2" }, { b: "3", c: "4" })).toEqual(["a", "b", "c"]);
  expect(changedNames({ a: "1" }, { a: "1" })).toEqual([]);
  expect(dependentOn(document, notebook, ["days"])).toEqual(new Set([at(1), at(3)]));
});
