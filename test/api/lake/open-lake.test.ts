import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LakeConnection, openLake } from "../../../src/api/lake/open-lake.js";
import { LakeError, QueryError, UsageError } from "../../../src/core/errors.js";
import { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { apiLake } from "../api-lake.js";

const OPTIONS = { hasDatabase: false, threads: 1 };
let folder: string;
let lake: LakeConnection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barlake-api-"));
  await apiLake(join(folder, "lake"));
  lake = openLake(join(folder, "lake"), OPTIONS);
});

afterAll(async () => {
  await lake.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Lands a daily bar of 600519.SH, as another process would. */
async function landBar(location: string, at: string, close: number): Promise<void> {
  using session = await Session.open({ threads: 1 });
  await land(session, new Lake(location, { hasDatabase: false }), BARS_1D, [{ at, close }]);
}

test("an open reader is disposable", async () => {
  const readers: Session[] = [];
  {
    using reader = await openReader(lake.lake, { threads: 1, statement: "SELECT 1" });
    readers.push(reader.session);
  }
  await expect(readers[0]?.run("SELECT 1")).rejects.toThrow("the session is closed");
});

describe("query", () => {
  test("gives an Arrow table, and its rows as objects", async () => {
    const table = await lake.query(
      `SELECT symbol, trade_date, timestamp, close, volume FROM bars_1d
       WHERE symbol = $symbol AND trade_date >= $from ORDER BY timestamp`,
      { symbol: "600117.SH", from: "2026-11-19" },
    );
    expect(table).toBeInstanceOf(Table);
    expect(tableFromIPC(tableToIPC(table)).numRows).toBe(2);
    const [first] = table.rows();
    expect(first).toEqual({
      symbol: "600117.SH",
      trade_date: "2026-11-19",
      timestamp: new Date("2026-11-18T16:00:00Z"),
      close: expect.any(Number) as number,
      volume: expect.any(Number) as number,
    });
    expect(JSON.parse(JSON.stringify(first))).toMatchObject({ trade_date: "2026-11-19" });
  });

  test("rows have the values of every kind of type", async () => {
    const table =
      await lake.query(`SELECT 9007199254740993 AS large, -1.25::DECIMAL(6, 2) AS decimal, sum(2) AS huge,
      [1, NULL] AS list, {'day': DATE '2026-01-02', 'n': NULL} AS struct, MAP {'a': 1::BIGINT} AS map,
      'x'::ENUM('x') AS enum, NULL AS nothing, true AS yes, -5::HUGEINT AS negative`);
    expect(table.rows()).toEqual([
      {
        large: 9007199254740993n,
        decimal: -1.25,
        huge: 2,
        list: [1, null],
        struct: { day: "2026-01-02", n: null },
        map: { a: 1 },
        enum: "x",
        nothing: null,
        yes: true,
        negative: -5,
      },
    ]);
  });

  test("takes values of every kind, and names one that is none", async () => {
    const sql = `SELECT $text AS text, $whole AS whole, $large AS large, $yes AS yes, $none AS none,
      len($list) AS list, TIMESTAMPTZ '2026-11-20 00:00:00Z' = $at AS at`;
    const values = { text: "it's", whole: 1.5, large: 2n ** 60n, yes: true, none: null };
    const rest = { list: ["a", "b"], at: new Date("2026-11-20T00:00:00Z") };
    const [row] = (await lake.query(sql, { ...values, ...rest })).rows();
    expect(row).toEqual({ ...values, list: 2, at: true });
    await expect(lake.query("SELECT $x", { x: undefined as never })).rejects.toThrow(
      "parameter $x is of type undefined",
    );
    await expect(lake.query("SELECT $x", { x: new Date("never") })).rejects.toThrow(
      "parameter $x is an invalid Date",
    );
  });

  test("fails with the statement, and the reader remains usable", async () => {
    await expect(lake.query("SELECT nothing_like_this FROM bars_1d")).rejects.toThrow(QueryError);
    expect((await lake.query("SELECT 1 AS one")).rows()).toEqual([{ one: 1 }]);
  });

  test("ends with its signal", async () => {
    const reason = new Error("enough");
    const options = { signal: AbortSignal.abort(reason) };
    await expect(lake.query("SELECT 1", {}, options)).rejects.toBe(reason);
  });

  test("streams batches, and another query runs within the loop", async () => {
    let rows = 0;
    for await (const batch of lake.stream("SELECT range AS n FROM range(100000)")) {
      rows += batch.numRows;
      expect((await lake.query("SELECT count(*) > 0 AS some FROM bars_1d")).rows()).toEqual([{ some: true }]);
    }
    expect(rows).toBe(100_000);
  });

  test("queries at the same time do not disturb one another", async () => {
    const ask = async (n: number) =>
      (await lake.query("SELECT $n AS n, count(*) AS bars FROM bars_1d", { n })).rows()[0];
    const results = await Promise.all(Array.from({ length: 6 }, (_, n) => ask(n)));
    expect(results.map((row) => row?.n)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(new Set(results.map((row) => row?.bars)).size).toBe(1);
  });
});

describe("read", () => {
  test("gives the rows of symbols and dates in order, with the columns that are named", async () => {
    const symbols = ["600117.SH", "000147.SZ"];
    const table = await lake.read("bars_1d", {
      symbols,
      from: "2026-11-18",
      to: "2026-11-20",
      columns: ["symbol", "trade_date"],
    });
    expect(table.rows()).toEqual(
      ["000147.SZ", "600117.SH"].flatMap((symbol) =>
        ["2026-11-18", "2026-11-19"].map((trade_date) => ({ symbol, trade_date })),
      ),
    );
    const many = Array.from({ length: 60 }, (_, n) => `${600_100 + n}.SH`);
    const some = await lake.read("bars_1d", { symbols: many, from: "2026-11-20", columns: ["symbol"] });
    expect(some.rows()).toContainEqual({ symbol: "600117.SH" });
    expect((await lake.read("bars_1d", { symbols: [] })).numRows).toBe(0);
    expect(
      (await lake.read("balance_sheet", { from: "2026-06-30", to: "2026-07-01" })).numRows,
    ).toBeGreaterThan(0);
  });

  test.each([
    ["bars_2d", {}, 'read: the lake has no table or view "bars_2d"'],
    ["bars_1d", { columns: ["closing"] }, 'read bars_1d: columns: it has no column "closing"'],
    ["bars_1d", { columns: [] }, "read bars_1d: columns is an empty list"],
    ["bars_1d", { from: "2026-13-01" }, 'read bars_1d: from: "2026-13-01" is not a date'],
    ["bars_1d", { symbols: ["600117"] }, 'symbol "600117" is not of the form'],
    ["exchanges", { from: "2026-01-01" }, "read exchanges: from is for tables with a date"],
    ["exchanges", { symbols: ["600117.SH"] }, 'read exchanges: symbols: it has no column "symbol"'],
    ["bars_1d", { asOf: "yesterday" }, 'asOf: "yesterday" is no time'],
    ["bars_1d", { versions: { bars: 1 } }, 'versions: there is no table "bars"'],
    ["bars_1d", { versions: { bars_1d: -1 } }, "versions.bars_1d: -1 is not a whole number from 0"],
    ["bars_1d", { versions: { bars_1d: 99 } }, "table bars_1d: version 99 does not exist"],
  ] as const)("refuses what does not exist: %s %j", async (table, options, message) => {
    await expect((async () => lake.read(table, options))()).rejects.toThrow(message);
  });
});

test("an option that does not exist is refused: asof would read the newest data", async () => {
  const wrong = { asof: 0 } as object;
  await expect(lake.query("SELECT 1", {}, wrong)).rejects.toThrow('query: there is no option "asof"');
  await expect(lake.read("bars_1d", wrong)).rejects.toMatchObject({
    hint: "options: symbols, from, to, columns, adjust, asOf, versions, knownAt, assumeReference, signal",
  });
  expect(() => lake.stream("SELECT 1", {}, wrong)).toThrow(UsageError);
});

test("a call without a table or a statement says what comes first", async () => {
  const missing = { symbols: ["600117.SH"] } as unknown as string;
  await expect(lake.read(missing)).rejects.toMatchObject({
    message: "read: the first argument is not a text",
    hint: expect.stringContaining('lake.read("bars_1d"'),
  });
  await expect(lake.query(missing)).rejects.toThrow(UsageError);
  expect(() => lake.stream(missing)).toThrow(UsageError);
});

test.each([
  { symbols: "600117.SH" },
  { symbols: null },
  { symbols: [600117], adjust: "forward" },
  { columns: "close" },
])("a value that is no list of texts is refused with the option: %j", async (options) => {
  await expect(lake.read("bars_1d", options as object)).rejects.toThrow(
    `read bars_1d: ${Object.keys(options)[0]} is not a list of texts`,
  );
});

test("a query sees what another process has landed since, unless it is pinned", async () => {
  const { location } = temporaryLake();
  await landBar(location, "2026-11-18T16:00:00Z", 10);
  await using open = openLake(location, OPTIONS);
  const version = (await open.lake.snapshot(BARS_1D)).version;
  await using pinned = openLake(location, { ...OPTIONS, versions: { bars_1d: version } });
  const closes = async (from: LakeConnection, options = {}) =>
    (await from.query<{ close: number }>("SELECT close FROM bars_1d ORDER BY timestamp", {}, options))
      .rows()
      .map(({ close }) => close);
  expect([await closes(open), await closes(pinned)]).toEqual([[10], [10]]);
  await landBar(location, "2026-11-19T16:00:00Z", 11);
  expect([await closes(open), await closes(pinned)]).toEqual([[10, 11], [10]]);
  expect(await closes(open, { versions: new Map([["bars_1d", version]]) })).toEqual([10]);
  expect(await closes(open, { asOf: 0 })).toEqual([]);
  expect(await closes(open)).toEqual([10, 11]);
  // What was known narrows the state that the lake was opened for.
  expect(await closes(pinned, { knownAt: "2026-11-20" })).toEqual([10]);
  await using empty = openLake(location, { ...OPTIONS, asOf: 0 });
  expect(await closes(empty, { knownAt: "2026-11-20" })).toEqual([]);
});

test("a damaged file is an error also of a warm query", async () => {
  const { location } = temporaryLake();
  await landBar(location, "2026-11-18T16:00:00Z", 10);
  await using open = openLake(location, OPTIONS);
  await open.query("SELECT 1");
  const [file] = (await open.lake.snapshot(BARS_1D)).files.keys();
  const path = join(location, BARS_1D.name, file as string);
  const bytes = readFileSync(path);
  bytes[0] = "X".charCodeAt(0);
  writeFileSync(path, bytes);
  await expect(open.query("SELECT symbol, close FROM bars_1d")).rejects.toThrow("is not what was written");
});

test("a lake that does not exist, or is closed, says so", async () => {
  const place = join(temporaryFolder(), "none");
  const open = openLake(place, OPTIONS);
  for (const ask of [
    () => open.read("bars_1d"),
    () => open.query("FROM bars_1d"),
    () => open.stream("SELECT 1").next(),
  ])
    await expect(ask()).rejects.toThrow(`lake ${place}: there is no table in it`);
  expect(existsSync(place)).toBe(false);
  await open.close();
  await expect(open.query("SELECT 1")).rejects.toThrow(LakeError);
});

describe("closing", () => {
  const SLOW = "SELECT count(*) AS n FROM range(100_000_000) a(i), range(1000) b(j) WHERE i % 3 = j % 5";

  test("waits for the results that were asked for before, also for those that wait themselves", async () => {
    const open = openLake(join(folder, "lake"), OPTIONS);
    let ended = 0;
    const asked = Array.from({ length: 4 }, async (_, n) => {
      const [row] = (await open.query<{ n: number }>("SELECT $n AS n", { n })).rows();
      ended += 1;
      return row?.n;
    });
    await open.close();
    expect(ended).toBe(4);
    expect(await Promise.all(asked)).toEqual([0, 1, 2, 3]);
    await open.close();
    await expect(open.read("bars_1d")).rejects.toThrow("it was closed");
  });

  test("ends streams, also from within their loop, and one that nobody reads on", async () => {
    const open = openLake(join(folder, "lake"), OPTIONS);
    const left = open.stream("FROM range(1_000_000)");
    await left.next();
    const loop = async (): Promise<void> => {
      for await (const batch of open.stream("FROM range(1_000_000)")) {
        expect(batch.numRows).toBeGreaterThan(0);
        await open.close();
      }
    };
    await expect(loop()).rejects.toThrow(LakeError);
    await expect(left.next()).rejects.toThrow("it was closed");
  });

  test("a signal ends a query that waits for others, and one that runs", async () => {
    await using open = openLake(join(folder, "lake"), OPTIONS);
    const [running, waiting] = [new AbortController(), new AbortController()];
    const slow = [0, 1].map(() => open.query(SLOW, {}, { signal: running.signal }));
    const third = open.query("SELECT 1", {}, { signal: waiting.signal });
    waiting.abort(new Error("no longer"));
    await expect(third).rejects.toThrow("no longer");
    const fourth = open.query("SELECT 4 AS n");
    const ended = slow.map((one) => expect(one).rejects.toThrow("enough"));
    running.abort(new Error("enough"));
    await Promise.all(ended);
    expect((await fourth).rows()).toEqual([{ n: 4 }]);
  });
});

test("a query is separate: what a statement creates or sets ends with it", async () => {
  await lake.query("CREATE OR REPLACE VIEW bars_1d AS SELECT 1 AS other");
  expect((await lake.query("SELECT * FROM bars_1d LIMIT 1")).schema.names).toContain("close");
  await lake.query("CREATE TEMP TABLE own AS SELECT 1 AS n; FROM own");
  await expect(lake.query("FROM own")).rejects.toThrow("own does not exist");
});

test("a dataset is iterated, read as columns, and built", async () => {
  const output = join(temporaryFolder(), "panel");
  const panel = lake.dataset({ name: "panel", universe: { region: "US" }, from: "2026-11-01", output });
  const { symbols, dates, fields } = await panel.columns();
  let rows = 0;
  for await (const batch of panel) rows += batch.numRows;
  expect(rows).toBeGreaterThan(0);
  expect(fields.close?.length).toBe(symbols.length * dates.length);
  expect((await panel.build()).rows).toBe(rows);
  expect(() => lake.dataset({ name: "No", universe: "X", from: "2026-01-01" })).toThrow(UsageError);
});
