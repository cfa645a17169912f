import { expect, test } from "vitest";
import { completeCommand, completeSql } from "../../../../src/cli/shell/completion.js";
import type { Catalog } from "../../../../src/db/catalog.js";

const relation = (name: string, kind: "view" | "table macro", columns: readonly string[]) => ({
  name,
  kind,
  comment: undefined,
  columns: columns.map((column) => ({ name: column, type: undefined, comment: undefined })),
});

const CATALOG: Catalog = {
  relations: [
    relation("bars_1d", "view", ["symbol", "trade_date", "close", "Odd Name"]),
    relation("bars_1m", "view", ["symbol", "timestamp", "close"]),
    relation("returns", "view", ["symbol", "closing_return"]),
    relation("raw.bars_1d", "view", ["symbol", "landed_at"]),
    relation("adjusted", "table macro", ["symbol", "adjusted_close"]),
  ],
  macros: [
    { name: "adjusted", kind: "table macro", summary: "", parameters: [], columns: [], columnsOf: undefined },
    { name: "clip", kind: "macro", summary: "", parameters: [], columns: [], columnsOf: undefined },
  ],
  functions: ["count", "closest", "closeness"],
  keywords: ["select", "from", "where", "as", "order", "cluster"],
};

/** Completes at the bar. */
const complete = (text: string): readonly string[] => {
  const [before = "", behind] = text.split("|");
  return completeSql(before, CATALOG, behind).found;
};

test.each<[string, readonly string[]]>([
  ["FROM |", ["bars_1d", "bars_1m", "returns", "adjusted"]],
  ["from bars|", ["bars_1d", "bars_1m"]],
  ["SELECT 1 FROM bars_1d JOIN re|", ["returns"]],
  ["from raw.b|", ["raw.bars_1d"]],
  ["SELECT cl| FROM bars_1d", ["close", "clip", "cluster", "closest", "closeness"]],
  ["SELECT cl| FROM returns", ["closing_return", "clip", "cluster", "closest", "closeness"]],
  ["SELECT b.| FROM bars_1d b", ["b.symbol", "b.trade_date", "b.close", 'b."Odd Name"']],
  ["SELECT 1 FROM bars_1d AS b WHERE b.cl|", ["b.close"]],
  ["SELECT x.ad| FROM adjusted('1d', as_of := DATE '2026-01-01') AS x", ["x.adjusted_close"]],
  ["SELECT returns.clo| FROM returns", ["returns.closing_return"]],
  ["SELECT Od| FROM bars_1d", ['"Odd Name"']],
  ['SELECT "Od| FROM bars_1d', ['"Odd Name"']],
  ["SEL|", ["SELECT"]],
  ["SELECT|", []],
  ["SELECT close| FROM bars_1d", ["close", "closest", "closeness"]],
  ["sel|", ["select"]],
  ["SELECT landed|", ["landed_at"]],
  ["select clo|", ["close", "closing_return", "closest", "closeness"]],
  ["select symbol, cl|", ["close", "closing_return", "clip", "cluster", "closest", "closeness"]],
  ["select * cl|", ["clip", "cluster", "closest", "closeness"]],
  ["SELECT 'fro|", []],
  ["SELECT 1 -- fro|", []],
  ["SELECT 12|", []],
  ["", []],
])("%s", (text, expected) => {
  expect(complete(text)).toEqual(expected);
});

test("completes commands and what they take", () => {
  const commands = [
    { name: ".mode", choices: () => ["table", "wide"] },
    { name: ".more", choices: () => [] },
    { name: ".chart", choices: (place: number) => (place === 0 ? ["line"] : ["close"]) },
  ];
  expect(completeCommand(".mo", commands)).toEqual({ found: [".mode", ".more"], word: ".mo" });
  expect(completeCommand(".mode ", commands).found).toEqual(["table", "wide"]);
  expect(completeCommand(".chart line c", commands)).toEqual({ found: ["close"], word: "c" });
  expect(completeCommand(".nothing x", commands).found).toEqual([]);
});
