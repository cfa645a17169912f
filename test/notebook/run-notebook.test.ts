import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/core/errors.js";
import { emptySession, runText } from "./run-cells.js";

const first = (
  run: { results: readonly { columns: readonly { values: readonly unknown[] }[] }[] } | undefined,
) => run?.results[0]?.columns.map(({ values }) => values[0]);

describe("parameters", () => {
  const TEXT = `-- %% param symbol = '600519.SH'
-- %% param share = 0.5
-- %% param days = 10
-- %% param from_date = DATE '2026-01-01'
-- %% param until = $from_date + $days
-- %% param symbols = ['a', 'b']
-- %%
CREATE VIEW v AS SELECT getvariable('symbol') AS symbol;
SELECT $symbol, $share, $days, $from_date::VARCHAR, $until::VARCHAR, $symbols::VARCHAR, (SELECT symbol FROM v)`;

  test("have defaults of any expression, are bound as named parameters, and are variables too", async () => {
    const { runs } = await runText(TEXT);
    expect(runs[0]?.fault).toBeUndefined();
    expect(first(runs[0])).toEqual(["600519.SH", 0.5, 10, "2026-01-01", "2026-01-11", "[a, b]", "600519.SH"]);
  });

  test("take the caller's texts as values of their types", async () => {
    const given = {
      share: "12.345",
      days: "30",
      from_date: "2025-12-31",
      until: "2026-02-01",
      symbols: "[x, y]",
    };
    const { runs, parameters } = await runText(TEXT, given);
    expect(first(runs[0])?.slice(1, 6)).toEqual([12.345, 30, "2025-12-31", "2026-02-01", "[x, y]"]);
    expect(Object.fromEntries(parameters)).toMatchObject({ from_date: "2025-12-31", days: "30" });
  });

  test("never become SQL, with any content", async () => {
    const session = await emptySession();
    await session.run("CREATE TABLE kept AS SELECT 1");
    const any = fc.oneof(
      fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
      fc.constantFrom("'; DROP TABLE kept; --", "$symbol", "' || (SELECT 'x') || '", "$$", "\\'", "-- %%"),
    );
    await fc.assert(
      fc.asyncProperty(any, async (symbol) => {
        const { runs } = await runText(
          "-- %% param symbol = 'a'\n-- %%\nSELECT $symbol, getvariable('symbol')",
          { symbol },
          session,
        );
        expect(first(runs[0])).toEqual([symbol, symbol]);
      }),
      { numRuns: 60 },
    );
    expect(await session.json("FROM kept")).toHaveLength(1);
  });

  test.each([
    ["a name that is not declared", "SELECT 1", { x: "1" }, "parameter x is not declared in test.sql"],
    [
      "a text of another type",
      "-- %% param n = 1\nSELECT $n",
      { n: "many" },
      'test.sql:1: param n: "many" given',
    ],
    ["a default that fails", "-- %% param n = nope(1)\nSELECT $n", {}, "test.sql:1: param n: Catalog Error"],
  ])("refuse %s", async (_, text, given, message) => {
    const failing = runText(text, given);
    await expect(failing).rejects.toThrow(UsageError);
    await expect(failing).rejects.toThrow(message);
  });
});

test("a cell that fails says its line in the file, and the others run", async () => {
  const { runs } = await runText(`-- %%
SELECT 1 AS a;
-- %%
-- Prose.
SELECT 2 AS b;

SELECT
  nope
FROM range(3);
SELECT 3;
-- %%
SELECT 1 +;
-- %%
SELECT $unknown;
-- %% chart line x=a y=c
SELECT 1 AS a, 2 AS b;
-- %%
SELECT 4 AS d;`);
  expect(runs.map(({ results, fault }) => [results.length, fault?.line])).toEqual([
    [1, undefined],
    [1, 8],
    [0, 12],
    [0, 14],
    [1, 15],
    [1, undefined],
  ]);
  expect(runs[1]?.fault?.message).toMatch(/nope/);
  expect(runs[1]?.fault?.message).not.toMatch(/LINE/);
  expect(runs[3]?.fault).toMatchObject({
    message: "parameter $unknown has no value",
    hint: "none is declared",
  });
  expect(runs[4]?.fault).toMatchObject({
    message: "chart line: y: the result has no column c",
    hint: "it has a, b",
  });
});

test("results are stored by column, with their kinds, up to a limit; all rows are counted", async () => {
  const { runs } = await runText(`-- %% table rows=2
SELECT i::BIGINT AS i, 1.5::DECIMAL(9,2) AS d, 9007199254740993 AS large, DATE '1970-01-02' AS day,
  TIMESTAMPTZ '1970-01-01 00:00:01.5Z' AS at, true AS yes, NULL AS none, ['x'] AS list, uuid() IS NULL AS no
FROM range(5000) t(i)`);
  const [result] = runs[0]?.results ?? [];
  expect(result?.rows).toBe(5000);
  expect(result?.columns.map(({ name, kind, values }) => [name, kind, values])).toEqual([
    ["i", "number", [0, 1]],
    ["d", "number", [1.5, 1.5]],
    ["large", "number", [9007199254740993n, 9007199254740993n]],
    ["day", "date", [1, 1]],
    ["at", "time", [1500, 1500]],
    ["yes", "boolean", [true, true]],
    ["none", "number", [null, null]],
    ["list", "text", ["['x']", "['x']"]],
    ["no", "boolean", [false, false]],
  ]);
});

test.each([
  ["candlestick x=d", "SELECT 1 AS d, 1 AS open, 1 AS high, 1 AS low, 1 AS close", "has no dates"],
  [
    "candlestick x=d",
    "SELECT DATE '2026-01-01' AS d, 1 AS open, 1 AS high, 1 AS low, 1 AS close FROM range(2)",
    "a value twice",
  ],
  ["candlestick x=d", "SELECT DATE '2026-01-01' AS d, 1 AS open", "no column high"],
  ["scatter x=a y=b", "SELECT 'x' AS a, 1 AS b", "column a has no numbers, but text values"],
])("chart %s says what it needs", async (directive, sql, message) => {
  const { runs } = await runText(`-- %% chart ${directive}\n${sql}`);
  expect(runs[0]?.fault?.message).toContain(message);
});

test("a chart takes all rows of the last result; those before it are tables", async () => {
  const { runs } = await runText(
    "-- %% chart line x=i y=i\nFROM range(900) t(i);\nFROM range(800) t(i);\nCREATE TEMP TABLE z AS SELECT 1",
  );
  const kept = runs[0]?.results.map(({ columns, rows }) => [columns[0]?.values.length, rows]);
  expect(kept).toEqual([
    [200, 900],
    [800, 800],
  ]);
  expect(runs[0]?.chart?.drawn).toBe(800);
});

test("a chart without rows is none, and no fault", async () => {
  const { runs } = await runText("-- %% chart line x=a y=b\nSELECT 1 AS a, 2 AS b WHERE false");
  expect(runs[0]).toMatchObject({ chart: undefined, fault: undefined });
});
