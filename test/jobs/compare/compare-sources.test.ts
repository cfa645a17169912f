import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { compareTable, type TableDifferences } from "../../../src/jobs/compare/compare-sources.js";
import { fileSource, lakeSource } from "../../../src/jobs/compare/sources.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { INCOME } from "../../../src/schema/statements.js";
import { landedBar, landFinancials, landRows, newLake } from "../../serve/served-lake.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-compare-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 1 });
});
afterAll(() => session.close());

const WINDOW = "(PARTITION BY symbol ORDER BY trade_date)";
/** Each fault: which bars of which symbols have it, and what it does to columns. `s` is the symbol's number, `d` the day's. */
const FAULTS: Readonly<Record<string, { kind: string; where: string; set?: Record<string, string> }>> = {
  missing: { kind: "missing", where: "d < 290 AND hash(s, d, 1) % 30 = 0" },
  ended: { kind: "stale", where: "d >= 280" },
  repeated: {
    kind: "stale",
    where: "d % 29 = 3",
    set: Object.fromEntries(
      ["open", "high", "low", "close", "volume"].map((c) => [c, `lag(${c}) OVER ${WINDOW}`]),
    ),
  },
  lots: { kind: "unit", where: "true", set: { volume: "floor(volume / 100)" } },
  thousands: { kind: "unit", where: "true", set: { amount: "round(amount / 1000)" } },
  cents: { kind: "unit", where: "d < 100", set: prices((c) => `${c} * 100`) },
  split: {
    kind: "adjustment",
    where: "d < 150",
    set: { ...prices((c) => `${c} / 10`), volume: "volume * 10" },
  },
  forward: { kind: "adjustment", where: "d < 150", set: prices((c) => `round(${c} * 0.613, 2)`) },
  dividend: { kind: "adjustment", where: "d < 150", set: prices((c) => `round(${c} * 0.9847, 4)`) },
  additive: { kind: "adjustment", where: "d < 150", set: prices((c) => `round(${c} - 0.35, 2)`) },
  tomorrow: {
    kind: "label",
    where: "true",
    set: { trade_date: "trade_date + CASE isodow(trade_date) WHEN 5 THEN 3 ELSE 1 END" },
  },
  yesterday: { kind: "label", where: "true", set: { trade_date: "trade_date - 1" } },
  corrected: {
    kind: "revised",
    where: "d % 23 = 7",
    set: { close: "round(close * 1.004, 2)", volume: "volume + 300" },
  },
  wrong: { kind: "value", where: "hash(s, d, 2) % 25 = 0", set: { close: "round(close * 1.3, 2)" } },
  spike: { kind: "value", where: "hash(s, d, 3) % 25 = 0", set: { high: "round(high * 1.9, 2)" } },
  volume: { kind: "value", where: "hash(s, d, 4) % 25 = 0", set: { volume: "volume * 3 + 7" } },
};

function prices(sql: (column: string) => string): Record<string, string> {
  return Object.fromEntries(["open", "high", "low", "close"].map((column) => [column, sql(column)]));
}

/** Random daily bars of three symbols for each fault and three without, of 300 weekdays. */
async function makeDays(): Promise<void> {
  const count = (Object.keys(FAULTS).length + 1) * 3;
  await session.run(`CREATE OR REPLACE TABLE truth AS
    WITH walk AS (
      SELECT s, d, (DATE '2020-01-06' + (d // 5 * 7 + d % 5)::INTEGER)::DATE AS trade_date,
        round(20 + 9 * sin(s + d / 37) + (hash(s, d) % 1000)::INTEGER / 500, 2) AS close
      FROM range(${count}) AS a(s), range(300) AS b(d)),
    bars AS (SELECT *, round(close * (1 + ((hash(s, d, 8) % 100)::INTEGER - 50) / 3000), 2) AS open FROM walk)
    SELECT (600000 + s) || '.SH' AS symbol, s, d, trade_date, open, round(greatest(open, close) * 1.004, 2) AS high,
      round(least(open, close) * 0.995, 2) AS low, close, (12000 + hash(s, d, 9) % 5000000)::DOUBLE AS volume,
      round(close * (12000 + hash(s, d, 9) % 5000000), 2) AS amount,
      ${caseOf((_, name) => `'${name}'`, "NULL")} AS fault
    FROM bars`);
}

function caseOf(
  valueOf: (fault: (typeof FAULTS)[string], name: string) => string,
  otherwise: string,
): string {
  const cases = Object.entries(FAULTS).map(
    ([name, fault], at) => `WHEN s // 3 = ${at} AND (${fault.where}) THEN ${valueOf(fault, name)}`,
  );
  return `CASE ${cases.join(" ")} ELSE ${otherwise} END`;
}

const COLUMNS = ["trade_date", "open", "high", "low", "close", "volume", "amount"];

async function compareFiles(table: TableSchema, a: string, b: string): Promise<TableDifferences> {
  const [left, right] = [join(folder, "a.parquet"), join(folder, "b.parquet")];
  await session.run(`COPY (${a}) TO '${left}'`);
  await session.run(`COPY (${b}) TO '${right}'`);
  return (await compareTable(session, table, fileSource(left), fileSource(right))) as TableDifferences;
}

test("at least 99 % of injected faults are named rightly, and nothing else is named", async () => {
  await makeDays();
  const values = COLUMNS.map(
    (column) => `${caseOf(({ set }) => set?.[column] ?? column, column)} AS ${column}`,
  );
  await compareFiles(
    BARS_1D,
    `SELECT symbol, ${COLUMNS.join(", ")} FROM truth`,
    // A day without a session, and a Saturday with one.
    `SELECT symbol, ${values.join(", ")} FROM truth
     WHERE (fault IS NULL OR fault NOT IN ('missing', 'ended')) AND trade_date <> DATE '2020-05-04'
     UNION ALL SELECT symbol, DATE '2020-06-06', open, high, low, close, volume, amount FROM truth WHERE d = 3 AND s % 3 > 0`,
  );
  const rows = await session.json<{ fault: string | null; kind: string; n: number }>(
    `SELECT fault, coalesce(array_to_string(list_sort(kinds), '+'), '-') AS kind, count(*)::INTEGER AS n
     FROM truth FULL JOIN named ON named.symbol = truth.symbol AND "at" = trade_date
     WHERE (fault IS NOT NULL OR kinds IS NOT NULL) AND coalesce("at", trade_date) NOT IN (DATE '2020-05-04', DATE '2020-06-06')
     GROUP BY ALL`,
  );
  const shareOf = (name: string): number => {
    const own = rows.filter(({ fault }) => fault === name);
    const right = own.filter(({ kind }) => kind === FAULTS[name]?.kind).reduce((sum, { n }) => sum + n, 0);
    return right / own.reduce((sum, { n }) => sum + n, 0);
  };
  const shares = Object.fromEntries(Object.keys(FAULTS).map((name) => [name, shareOf(name)]));
  for (const [name, share] of Object.entries(shares)) expect([name, share >= 0.99]).toEqual([name, true]);
  // Bars of a shifted symbol that lie on dates which the other source does not have.
  expect(rows.filter(({ fault, kind }) => fault === null && kind !== "label")).toEqual([]);
  const sessions = await session.json<{ day: string; share: number }>(
    `SELECT "at"::VARCHAR AS day, avg((kinds = ['calendar'])::INTEGER) AS share FROM named
     WHERE "at" IN (DATE '2020-05-04', DATE '2020-06-06') AND NOT (in_a AND in_b) GROUP BY ALL ORDER BY ALL`,
  );
  // The others are of symbols with shifted labels.
  expect(sessions.map(({ day, share }) => [day, share > 0.9])).toEqual([
    ["2020-05-04", true],
    ["2020-06-06", true],
  ]);
});

test.each([
  ["labelled by their begin", "INTERVAL 1 minute", "a symbol", -60_000],
  ["in another zone", "INTERVAL 8 hour", "all", -28_800_000],
])("minutes %s are the same bars under another label", async (_, shift, which, shiftMs) => {
  const minutes = `SELECT (600000 + s) || '.SH' AS symbol, TIMESTAMPTZ '2024-03-11 01:31:00+00' + INTERVAL 1 minute * (m % 120) + INTERVAL 1 day * (m // 120) AS "timestamp",
      10 + s + (hash(s, m) % 1000)::INTEGER / 100 AS close, close AS open, close + 0.02 AS high, close - 0.02 AS low, (hash(m, s) % 10000)::BIGINT AS volume
    FROM range(4) AS a(s), range(240) AS b(m)`;
  const isShifted = which === "all" ? "true" : "symbol = '600002.SH'";
  const found = await compareFiles(
    BARS_1M,
    minutes,
    `SELECT * REPLACE (CASE WHEN ${isShifted} THEN "timestamp" - ${shift} ELSE "timestamp" END AS "timestamp") FROM (${minutes})`,
  );
  expect(found.differences.map(({ kind, shiftMs: by }) => [kind, by])).toEqual([["label", shiftMs]]);
});

test("a statement that one lake has in a later version is revised; other numbers are not", async () => {
  const lakes = [newLake(), newLake()];
  for (const { remove } of lakes) onTestFinished(remove);
  const [a, b] = lakes.map(({ lake }) => lake);
  if (a === undefined || b === undefined) throw new Error("no lake");
  const row = (symbol: string, revenue: number, period_end = "2023-12-31") => {
    return { symbol, period_end, announce_date: "2024-03-18", revenue, net_income: revenue / 10 };
  };
  await landFinancials(
    a,
    INCOME,
    [row("600000.SH", 100), row("600001.SH", 100), row("600002.SH", 100), row("600003.SH", 70)],
    1,
  );
  await landFinancials(a, INCOME, [row("600000.SH", 160)], Date.parse("2024-09-01"));
  await landFinancials(
    b,
    INCOME,
    [
      row("600000.SH", 100),
      row("600001.SH", 145),
      row("600002.SH", 1e6),
      row("600003.SH", 70),
      row("600003.SH", 60, "2024-06-30"),
    ],
    1,
  );
  const own = await Session.open({ threads: 1 });
  onTestFinished(() => own.close());
  const found = await compareTable(own, INCOME, lakeSource(a), lakeSource(b));
  expect(
    found?.differences.map(({ kind, examples }) => [kind, examples.map(({ symbol }) => symbol)]),
  ).toEqual([
    ["stale", ["600003.SH"]],
    ["unit", ["600002.SH"]],
    ["revised", ["600000.SH"]],
    ["value", ["600001.SH"]],
  ]);
});

test("volumes of lakes are compared in shares, and a column that a source never has is named", async () => {
  const lakes = [newLake(), newLake()];
  for (const { remove } of lakes) onTestFinished(remove);
  const [a, b] = lakes.map(({ lake }) => lake);
  if (a === undefined || b === undefined) throw new Error("no lake");
  await landRows(a, BARS_1D, [
    landedBar("600000.SH", "2024-03-14T00:00+08:00", 20, { volume: 5, lot: 100, prev_close: 19 }),
  ]);
  await landRows(b, BARS_1D, [landedBar("600000.SH", "2024-03-14T00:00+08:00", 20, { volume: 500, lot: 1 })]);
  const own = await Session.open({ threads: 1 });
  onTestFinished(() => own.close());
  expect(await compareTable(own, BARS_1D, lakeSource(a), lakeSource(b))).toMatchObject({
    different: 0,
    common: 1,
    notCompared: ["prev_close"],
  });
  expect(await compareTable(own, BARS_1M, lakeSource(a), lakeSource(b))).toBeUndefined();
});

test("a file without a column that is needed, or with times without a zone, is refused with what to do", async () => {
  const path = join(folder, "bad.parquet");
  const lake = newLake();
  onTestFinished(lake.remove);
  await session.run(
    `COPY (SELECT '600000.SH' AS ticker, DATE '2024-01-02' AS trade_date, 1.0 AS close) TO '${path}'`,
  );
  await expect(fileSource(path).rows(session, BARS_1D)).rejects.toMatchObject({
    message: expect.stringContaining("has no column symbol"),
    hint: expect.stringContaining("--map symbol=COLUMN"),
  });
  expect(await fileSource(path, { symbol: "ticker" }).rows(session, BARS_1D)).toMatchObject({
    columns: ["close"],
  });
  await session.run(
    `COPY (SELECT '600000.SH' AS symbol, TIMESTAMP '2024-01-02 09:31:00' AS "timestamp", 1.0 AS close) TO '${path}'`,
  );
  await expect(fileSource(path).rows(session, BARS_1M)).rejects.toThrow("more than one reading");
});

const HEAD = "symbol,trade_date,close";

test.each([
  [
    "two rows of one day",
    [HEAD, "600000.SH,2024-01-02,1", "600000.SH,2024-01-02,2"],
    "more than one row of 600000.SH at 2024-01-02",
  ],
  [
    "a date with two readings",
    [HEAD, "600000.SH,01-02-2024,1"],
    "1 rows have no symbol with a known exchange, or no time",
  ],
  ["a row without a symbol", [HEAD, ",2024-01-02,1", "600000.SH,2024-01-02,1"], "1 rows have no symbol"],
  ["a time with a zone as a date", [HEAD, "600000.SH,2024-01-02T00:00:00+08:00,1"], "a date was expected"],
])("a file with %s is refused: nothing of it is hidden or guessed", async (_, lines, message) => {
  const path = join(folder, "rows.csv");
  writeFileSync(path, lines.join("\n"));
  await expect(fileSource(path).rows(session, BARS_1D)).rejects.toThrow(message);
});

test("what is no number differs from one", async () => {
  const bar = (
    value: string,
  ): string => `SELECT '600000.SH' AS symbol, DATE '2024-01-02' AS trade_date, ${value}::DOUBLE AS close
    UNION ALL SELECT '600000.SH', DATE '2024-01-03', 5`;
  for (const value of ["'NaN'", "'inf'"]) {
    const found = await compareFiles(BARS_1D, bar("5"), bar(value));
    expect(found.differences.map(({ kind, rows }) => [kind, rows])).toEqual([["missing", 1]]);
  }
});

test("a file of closes alone is compared; where no column is in common, nothing is", async () => {
  const closes = (close: number): string =>
    `SELECT '600000.SH' AS symbol, DATE '2024-01-02' AS trade_date, ${close}::DOUBLE AS close`;
  expect((await compareFiles(BARS_1D, closes(5), closes(7))).differences.map(({ kind }) => kind)).toEqual([
    "value",
  ]);
  const opens = "SELECT '600000.SH' AS symbol, DATE '2024-01-02' AS trade_date, 5::DOUBLE AS open";
  expect(await compareFiles(BARS_1D, closes(5), opens)).toEqual({
    table: "bars_1d",
    rowsA: 1,
    rowsB: 1,
    common: 1,
    different: 0,
    columns: [],
    notCompared: ["close", "open"],
    differences: [],
  });
});
