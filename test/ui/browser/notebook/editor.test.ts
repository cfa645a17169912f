import { expect, test } from "vitest";
import type { Catalog } from "../../../../src/db/catalog.js";
import { faultRange, proposalsAt } from "../../../../src/ui/browser/notebook/code-editor.js";

test.each<[string, number | null, string]>([
  ["SELECT nothing_here + 1", 7, "nothing_here"],
  ["  SELECT 1  ", null, "SELECT 1"],
  ["SELECT (", 8, "("],
  ["SELECT 'a' 'b'", 11, "'"],
  ["a", 99, "a"],
  ["", 0, ""],
])("of %j at %j is underlined %j", (line, column, marked) => {
  const { from, to } = faultRange(line, column);
  expect(line.slice(from, to)).toBe(marked);
});

const CATALOG: Catalog = {
  relations: [
    {
      name: "bars_1d",
      kind: "view",
      comment: "Daily bars.",
      columns: [{ name: "volume", type: "BIGINT", comment: "Traded [shares]" }],
    },
  ],
  macros: [],
  functions: [],
  keywords: ["select", "from"],
};

test.each<[string, string, readonly string[]]>([
  ["SELECT vol| FROM bars_1d;", "vol", ["volume"]],
  ["SELECT 1; SELECT * FROM ba|; SELECT 2", "ba", ["bars_1d"]],
  ["FROM bars_1d; SELECT |;", "", []],
  ["SELECT $d|", "$d", ["$days"]],
  ["-- %% chart line x=vol|", "", []],
])("%s", (text, word, found) => {
  const at = text.indexOf("|");
  const proposed = proposalsAt(text.replace("|", ""), at, CATALOG, ["days"]);
  expect([proposed.word, proposed.found.map((one) => one.text)]).toEqual([word, found]);
});

test("a column is proposed with its type and comment", () => {
  const { found } = proposalsAt("SELECT vol FROM bars_1d", 10, CATALOG, []);
  expect(found).toEqual([{ text: "volume", kind: "column", type: "BIGINT", comment: "Traded [shares]" }]);
});
