import { tableFromIPC as readByFlechette } from "@uwdata/flechette";
import { type RecordBatch, tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batchesToIpc, type IpcFormat } from "../../../src/arrow/batches-ipc.js";
import { Session } from "../../../src/db/session/session.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { anyColumn, EVERY_SCALAR, queryOf } from "./any-column.js";
import { type Plain, plainOfDuckDB, plainRows } from "./plain-values.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 2 });
});
afterAll(() => session.close());

async function batchesOf(sql: string): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = [];
  for await (const batch of await session.batches(sql)) batches.push(batch);
  return batches;
}

async function throughIpc(sql: string, format: IpcFormat): Promise<readonly RecordBatch[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of batchesToIpc(await session.batches(sql), format)) pieces.push(piece);
  return tableFromIPC(Buffer.concat(pieces)).batches;
}

async function valuesOf(sql: string): Promise<Plain[][]> {
  const result = await session.run(sql);
  const rows = await result.getRows();
  return rows.map((row) => row.map(plainOfDuckDB));
}

describe("the batches of a query hold DuckDB's own values", () => {
  once("of every type, over several vectors", async () => {
    const sql = queryOf(EVERY_SCALAR, 2100);
    const expected = await valuesOf(sql);
    expect(expected).toHaveLength(2100);
    expect(plainRows(await batchesOf(sql))).toEqual(expected);
    for (const format of ["stream", "file"] as const)
      expect(plainRows(await throughIpc(sql, format))).toEqual(expected);
  });

  test("of any columns, nested ones too", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyColumn, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0, 1, 7, 300, 2048, 4100),
        fc.constantFrom<IpcFormat>("stream", "file"),
        async (columns, rows, format) => {
          const sql = queryOf(columns, rows);
          const expected = await valuesOf(sql);
          expect(plainRows(await batchesOf(sql))).toEqual(expected);
          expect(plainRows(await throughIpc(sql, format))).toEqual(expected);
        },
      ),
      { numRuns: cases({ few: 2, more: 16, all: 400 }) },
    );
  });

  once("of lists whose elements are not in their order", async () => {
    const sql = `SELECT list_reverse(l) AS reversed, l[2:3] AS part, l AS whole, [l, NULL, l] AS nested
      FROM (SELECT range(i % 5, i % 5 + i % 4) AS l, i FROM range(3000) t(i)) WHERE i % 3 > 0 ORDER BY hash(i)`;
    expect(plainRows(await batchesOf(sql))).toEqual(await valuesOf(sql));
  });

  once("of a column that is null throughout, of none, and of empty lists", async () => {
    const sql = "SELECT NULL AS a, NULL::INTEGER AS b, [] AS c, MAP {} AS d, ''::BLOB AS e FROM range(3000)";
    expect(plainRows(await batchesOf(sql))).toEqual(await valuesOf(sql));
  });
});

once("batches have 64k rows at most, and fewer where values are large", async () => {
  const rows = (await batchesOf("SELECT i FROM range(200000) t(i)")).map((batch) => batch.numRows);
  expect(Math.max(...rows)).toBeLessThanOrEqual(65_536);
  expect(Math.min(...rows.slice(0, -1))).toBeGreaterThan(65_536 - 2048);
  expect(rows.reduce((sum, n) => sum + n)).toBe(200_000);
  const large = await batchesOf("SELECT repeat('x', 20000) AS s FROM range(8192)");
  expect(large.map((batch) => batch.numRows)).toEqual([2048, 2048, 2048, 2048]);
});

once("an enum's words are written once", async () => {
  const sql = "SELECT (['a', 'b'][i % 2 + 1])::ENUM('a', 'b') AS e FROM range(150000) t(i)";
  const batches = await throughIpc(sql, "file");
  expect(batches).toHaveLength(3);
  expect(plainRows(batches)).toEqual(await valuesOf(sql));
});

once("an empty result is one batch, which names the columns", async () => {
  const [batch, ...others] = await throughIpc("SELECT 1 AS a, 'x' AS b WHERE false", "stream");
  expect(others).toEqual([]);
  expect(batch?.numRows).toBe(0);
  expect(batch?.schema.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(["a Int32", "b Utf8"]);
});

once("types are DuckDB's, where Arrow has them", async () => {
  const [batch] = await batchesOf(
    `SELECT sum(1::BIGINT) AS volume, now() AS at, now()::TIMESTAMP AS local, uuid() AS id, 1.25 AS price,
       DATE '2026-11-20' AS day, [1] AS list, {'a': 1, 'b': 'x'} AS struct, MAP {'k': 1} AS map, row(1, 2) AS unnamed`,
  );
  expect(batch?.schema.fields.map(({ name, type }) => `${name}: ${type}`)).toEqual([
    "volume: Decimal[38e0]",
    "at: Timestamp<MICROSECOND, UTC>",
    "local: Timestamp<MICROSECOND>",
    "id: Utf8",
    "price: Decimal[3e+2]",
    "day: Date32<DAY>",
    "list: List<Int32>",
    "struct: Struct<{a:Int32, b:Utf8}>",
    "map: Map<{key:Utf8, value:Int32}>",
    "unnamed: Struct<{_1:Int32, _2:Int32}>",
  ]);
});

once("a name that is there twice gets a number", async () => {
  const [batch] = await batchesOf("SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a");
  expect(batch?.schema.names).toEqual(["a", "a_2", "a_1", "a_3"]);
});

describe("refused, naming the column and what to do", () => {
  once.each([
    [
      "SELECT '12:00:00+01'::TIMETZ AS t",
      /column t: TIME WITH TIME ZONE has no counterpart in Arrow/,
      "to VARCHAR",
    ],
    ["SELECT '101'::BIT AS b", /column b: BIT has no counterpart/, "to VARCHAR"],
    [
      "SELECT [union_value(n := 1)] AS u",
      /column u\[\]: UNION\(.*INTEGER\) has no counterpart/,
      "to VARCHAR",
    ],
    ["SELECT {'x': '1'::BIGNUM} AS s", /column s\.x: BIGNUM has no counterpart/, "to VARCHAR"],
    ["SELECT DATE 'infinity' AS d", /column d: has an infinite time/, "isfinite"],
    ["SELECT TIMESTAMP '-infinity' AS d", /column d: has an infinite time/, "isfinite"],
    [
      "SELECT 100000000000000000000000000000000000000::HUGEINT AS h",
      /column h: 10{38} has more than/,
      "to DOUBLE",
    ],
    [
      "SELECT (-170141183460469231731687303715884105727 - 1)::HUGEINT AS h",
      /more than the 38 digits/,
      "to DOUBLE",
    ],
    ["SELECT 340282366920938463463374607431768211455::UHUGEINT AS h", /more than the 38 digits/, "to DOUBLE"],
    [
      "SELECT to_microseconds(9223372036854776) AS i",
      /column i: an interval has more nanoseconds/,
      "to VARCHAR",
    ],
  ])("%s", async (sql, message, hint) => {
    const failure = await batchesOf(sql).then(
      () => undefined,
      (error: unknown) => error as Error & { hint: string },
    );
    expect(failure?.message).toMatch(message);
    expect(failure?.hint).toContain(hint);
  });
});

once("the largest values that a decimal of 38 digits has are preserved", async () => {
  const most = "9".repeat(38);
  const sql = `SELECT ${most}::HUGEINT AS h, -${most}::HUGEINT AS n, ${most}::UHUGEINT AS u`;
  expect(plainRows(await batchesOf(sql))).toEqual([[BigInt(most), -BigInt(most), BigInt(most)]]);
});

once("a query that fails midway throws what DuckDB says", async () => {
  await expect(batchesOf("SELECT error('row ' || i) FROM range(3) t(i)")).rejects.toThrow(/row 0/);
});

once.each<IpcFormat>(["stream", "file"])(
  "the %s of a query that fails midway is refused by readers",
  async (format) => {
    const sql = "SELECT CASE WHEN i = 600000 THEN error('late') ELSE i END AS v FROM range(1000000) t(i)";
    const pieces: Uint8Array[] = [];
    const write = async (): Promise<void> => {
      for await (const piece of batchesToIpc(await session.batches(sql), format)) pieces.push(piece);
    };
    await expect(write()).rejects.toThrow("late");
    const written = Buffer.concat(pieces);
    expect(written.length).toBeGreaterThan(100_000);
    const message = format === "stream" ? /Expected to read 264 metadata bytes/ : /schema|fieldsLength/;
    for (const read of [tableFromIPC, readByFlechette]) expect(() => void read(written)).toThrow(message);
  },
);
