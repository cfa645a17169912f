import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Catalog } from "../../../../src/db/catalog.js";
import { faultRange, keepDirective, proposalsAt } from "../../../../src/ui/browser/notebook/code-editor.js";

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

/** The text after a change, in which `|` marks the cursor. */
function edited(doc: string, from: number, to: number, insert: string, event = "input.type"): string {
  const state = EditorState.create({ doc, extensions: EditorState.transactionFilter.of(keepDirective) });
  const { state: after } = state.update({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: event,
  });
  const text = after.doc.toString();
  return `${text.slice(0, after.selection.main.head)}|${text.slice(after.selection.main.head)}`;
}

test.each<[string, Parameters<typeof edited>, string]>([
  ["all is selected and a letter typed", ["-- %%\nSELECT 1", 0, 14, "x"], "-- %%\nx|"],
  ["all is selected and deleted", ["-- %% table\nSELECT 1", 0, 20, "", "delete.selection"], "-- %% table\n|"],
  ["a line end after it is deleted", ["-- %%\nSELECT 1", 5, 6, "", "delete.backward"], "-- %%\n|SELECT 1"],
  ["its sign is deleted", ["-- %%\nSELECT 1", 4, 5, "", "delete.backward"], "-- %%\n|SELECT 1"],
  ["a word of it is deleted", ["-- %% table\nSELECT 1", 5, 11, "", "delete.selection"], "-- %%|\nSELECT 1"],
  ["a cell of a line alone is typed over", ["-- %%", 0, 5, "x"], "-- %%\nx|"],
  [
    "another cell is pasted over it",
    ["-- %%\nSELECT 1", 0, 14, "-- %% table\nFROM a", "input.paste"],
    "-- %% table\nFROM a|",
  ],
  ["what it says is changed", ["-- %% table\nSELECT 1", 6, 11, "line"], "-- %% line|\nSELECT 1"],
  ["a cell without a directive is typed over", ["-- # Title\n", 0, 11, "x"], "x|"],
  ["a change is undone", ["-- %%\nSELECT 1", 0, 14, "", "undo"], "|"],
])("the directive of a cell stays where %s", (_, change, expected) => {
  expect(edited(...change)).toBe(expected);
});
