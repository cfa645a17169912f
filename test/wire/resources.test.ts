import { describe, expect, test } from "vitest";
import {
  exchangeSummary,
  instrument,
  listEnvelope,
  mapEnvelope,
  statementRecord,
  universeDetail,
} from "../../src/wire/resources.js";

const share = { symbol: "600519.SH", code: "600519", exchange: "SH", region: "CN", type: "stock" };
const universe = { id: "CN_Equity_A", name: "A", category: "equity", region: "CN", symbol_count: 1 };

describe("what the interface leaves out or adds passes through untouched", () => {
  test.each([
    ["an instrument without a name", instrument, share],
    [
      "an instrument with an unknown extension",
      instrument,
      { ...share, name: null, ext: { type: "moon_equity", crater: [1] } },
    ],
    ["an instrument with unknown members", instrument, { ...share, name: "X", since: "2001" }],
    [
      "a universe with its members",
      universeDetail,
      { ...universe, description: null, symbols: ["600519.SH"] },
    ],
    ["an exchange", exchangeSummary, { exchange: "SH", region: "CN", count: 0, open: true }],
    [
      "a statement",
      statementRecord,
      { period_end: "2024-03-31", announce_date: null, total_assets: 5, surprise: "x" },
    ],
    ["a list", listEnvelope, { data: [1, null, {}], count: 3 }],
    ["a map", mapEnvelope, { data: { a: 1 } }],
  ])("%s", (_, schema, value) => {
    expect(schema.parse(value)).toEqual(value);
  });
});

describe("what has another shape is refused", () => {
  test.each([
    ["an instrument without a symbol", instrument, { ...share, symbol: undefined }],
    ["an instrument whose extension is a list", instrument, { ...share, ext: [] }],
    ["a universe whose count is a fraction", universeDetail, { ...universe, symbol_count: 1.5, symbols: [] }],
    ["a universe without members", universeDetail, universe],
    ["an exchange of a negative count", exchangeSummary, { exchange: "SH", region: "CN", count: -1 }],
    ["a statement of no date", statementRecord, { period_end: "2024-02-30" }],
    ["a list that is a map", listEnvelope, { data: {} }],
    ["a map that is a list", mapEnvelope, { data: [] }],
  ])("%s", (_, schema, value) => {
    expect(schema.safeParse(value).success).toBe(false);
  });
});
