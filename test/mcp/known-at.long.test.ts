import { beforeAll, expect, test } from "vitest";
import { parseTradingDate } from "../../src/core/time.js";
import { fillNightly, type Night } from "../lake/nightly-lake.js";
import { newLake } from "../serve/served-lake.js";
import { startMcp } from "./mcp-client.js";

const { lake, remove } = newLake();
let night: Night;

beforeAll(async () => {
  const end = parseTradingDate("2026-03-31");
  const nights = await fillNightly(lake, {
    seed: 5,
    symbols: 30,
    days: 170,
    end,
    nights: 3,
    regions: ["CN", "US"],
  });
  night = nights[1] as Night;
  return remove;
});

const CHEAP = `SELECT symbol, price_to_book, revenue_yoy FROM daily_valuation
  WHERE price_to_book > 0 AND revenue_yoy > 0 AND trade_date > $day::DATE - 10
  QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY trade_date DESC) = 1
  ORDER BY price_to_book LIMIT 5`;

test("at a time, every tool answers as of a lake that ends there", async () => {
  await using known = await startMcp(lake.location, "--known-at", night.date);
  await using cut = await startMcp(lake.location, "--as-of", new Date(night.now).toISOString());
  const both = async (
    name: string,
    parameters: object,
  ): Promise<{ rows: readonly (readonly unknown[])[] }> => {
    const [has, expected] = await Promise.all([known.call(name, parameters), cut.call(name, parameters)]);
    expect([has.isError, expected.isError], expected.text).toEqual([false, false]);
    // The first rows of a view are in no order.
    const { lake: clock, sample: _has, ...rest } = has.result;
    const { lake: _cut, sample: _expected, ...same } = expected.result;
    expect(clock).toMatchObject({ asOf: null, knownAt: night.date, assumesReference: false });
    expect(rest).toEqual(same);
    return expected.result;
  };
  const { rows } = await both("query", { sql: CHEAP, values: { day: night.date } });
  expect(rows).toHaveLength(5);
  const symbols = rows.map(([symbol]) => String(symbol));
  await both("bars", { symbols, period: "1d", adjustment: "forward", from: "2025-06-01" });
  await both("statements", { symbols, table: "income" });
  await both("search", { text: symbols[0] });
  const definition = { name: "panel", universe: symbols, from: "2025-08-01" };
  await both("dataset_plan", { definition });
  await both("describe", { name: "daily_valuation" });
  await both("describe", { name: "instruments" });
  for (const view of ["corporate_actions", "reference_changes", "trading_calendar", "symbol_changes"])
    await both("query", { sql: `SELECT count(*), max(COLUMNS(*)) FROM ${view}` });
});

test("no statement, value or parameter moves the time", async () => {
  await using known = await startMcp(lake.location, "--known-at", night.date);
  const newest = async (sql: string): Promise<string> => {
    const { isError, text, result } = await known.call("query", { sql });
    return isError ? text : JSON.stringify(result.rows);
  };
  const seen = JSON.stringify([[night.date]]);
  expect(await newest("SELECT max(trade_date)::VARCHAR FROM bars_1d")).toBe(seen);
  expect(await newest("SELECT max(trade_date)::VARCHAR FROM raw.bars_1d")).toBe(seen);
  expect(
    await newest(
      "SELECT max(trade_date)::VARCHAR FROM adjusted('1d', 'forward', as_of := DATE '2026-03-31')",
    ),
  ).toBe(seen);
  for (const sql of [
    "SET VARIABLE known_at = '2026-03-31'",
    `SELECT max(trade_date) FROM read_parquet('${lake.location}/bars_1d/**/*.parquet')`,
    `SELECT max(trade_date) FROM delta_scan('${lake.location}/bars_1d')`,
    "SELECT sql FROM duckdb_views()",
    "SELECT * FROM known_versions('raw.income' || '')",
  ])
    expect(await newest(sql), sql).toContain("Instead: ");
  const [[symbol]] = (await known.call("query", { sql: "SELECT max(symbol) FROM bars_1d" })).result.rows as [
    [string],
  ];
  const asked = await known.call("bars", {
    symbols: [symbol],
    count: 1,
    to: "2099-01-01",
    knownAt: "2026-03-31",
  });
  if (!asked.isError) expect(asked.result.rows.map((row) => row[1])).toEqual([night.date]);
  const { result } = await known.call("bars", { symbols: [symbol], count: 1, to: "2099-01-01" });
  expect(result.rows.map((row) => row[1])).toEqual([night.date]);
});
