import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Catalog } from "../../../../src/db/catalog.js";
import { faultRange, keepsDirective, proposalsAt } from "../../../../src/ui/browser/notebook/code-editor.js";

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

test.each<[doc: string, from: number, to: number, typed: string, now: string, cursor: number]>([
  ["-- %%\nSELECT 1", 0, 14, "S", "-- %%\nS", 7],
  ["-- %%\nSELECT 1", 0, 14, "", "-- %%\n", 6],
  ["-- %% table\nSELECT 1", 3, 19, "", "-- %% table\n1", 12],
  ["-- %%\nSELECT 1", 5, 6, "", "-- %%\nSELECT 1", 6],
  ["-- %%\nSELECT 1", 4, 5, "", "-- %%\nSELECT 1", 14],
  ["-- %%\nSELECT 1", 0, 0, "x", "-- %%\nx\nSELECT 1", 7],
  ["-- %%\nSELECT 1", 5, 14, "S", "-- %%\nS", 7],
  // What can be changed: its words, what is below, and a whole cell.
  ["-- %%\nSELECT 1", 5, 5, " table", "-- %% table\nSELECT 1", 11],
  ["-- %%\nSELECT 1", 13, 14, "2", "-- %%\nSELECT 2", 14],
  ["-- %%\nSELECT 1", 0, 14, "-- %% figures\nSELECT 2", "-- %% figures\nSELECT 2", 22],
  ["-- # Title", 0, 10, "x", "x", 1],
])("the directive of %j stays where %i to %i is replaced by %j", (doc, from, to, typed, now, cursor) => {
  const state = EditorState.create({ doc, selection: { anchor: doc.length }, extensions: [keepsDirective] });
  const changed = state.update({
    changes: { from, to, insert: typed },
    selection: { anchor: from + typed.length },
  }).state;
  expect([changed.doc.toString(), changed.selection.main.head]).toEqual([now, cursor]);
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
