import {
  Bool,
  Dictionary,
  Field,
  Float32,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import { QueryError } from "../../../src/core/errors.js";
import { Session } from "../../../src/db/session/session.js";
import { DOUBLE_COLUMNS, type KlineColumns } from "../../../src/wire/kline-columns.js";
import { once } from "../../once.js";
import { cases, SWEEP } from "../../sweep.js";
import { barsOf, columnsOf, type PlainBar } from "../../wire/any-kline-columns.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 2 });
});
afterAll(() => session.close());

interface ScannedBar extends Record<string, unknown> {
  readonly symbol: string;
  readonly ms: bigint;
  readonly volume: bigint;
}

/** The bars that DuckDB reads of columns, in their order. */
async function scanned(columns: KlineColumns): Promise<Record<string, PlainBar[]>> {
  const rows = await session.withBatch(klineBatch(columns), (table) =>
    session.rows<ScannedBar>(
      `SELECT *, symbol::VARCHAR AS symbol, epoch_ms("timestamp") AS ms FROM ${table}`,
    ),
  );
  const bars: Record<string, PlainBar[]> = Object.fromEntries(columns.symbols.map((symbol) => [symbol, []]));
  for (const row of rows) {
    const doubles = Object.fromEntries(
      DOUBLE_COLUMNS.map((name) => [name, (row[name] as number | null) ?? undefined]),
    );
    bars[row.symbol]?.push({ ...doubles, timestamp: Number(row.ms), volume: row.volume });
  }
  return bars;
}

function batchOf(columns: Record<string, Vector>): RecordBatch {
  const entries = Object.entries(columns);
  const fields = entries.map(([name, vector]) => new Field(name, vector.type, true));
  const children = entries.map(([, vector]) => vector.data[0] as NonNullable<(typeof vector.data)[0]>);
  const length = children[0]?.length ?? 0;
  return new RecordBatch(
    new Schema(fields),
    makeData({ type: new Struct(fields), length, nullCount: 0, children }),
  );
}

describe("bars through DuckDB", () => {
  test("any bars over several vectors, with nulls anywhere, come back bit by bit", async () => {
    const anyNull = fc.constantFrom(1, 2, 3, 7, 2047, 2048, 2049);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 6500 }),
        anyNull,
        fc.nat(2100),
        async (rows, every, from) => {
          const bar = (i: number): PlainBar => ({
            timestamp: 1_700_000_000_000 + i * 60_000,
            volume: BigInt(i) * 7_777_777_777_777n - 2n ** 50n,
            open: i / 7,
            low: i === 5 ? -0 : -i,
            prev_close: i >= from && i % every === 0 ? undefined : i / 3,
            settlement_price: i < from ? 1 : undefined,
          });
          const half = Math.floor(rows / 2);
          const columns = columnsOf({
            "A.US": Array.from({ length: half }, (_, i) => bar(i)),
            "B.US": Array.from({ length: rows - half }, (_, i) => bar(i + half)),
          });
          expect(await scanned(columns)).toStrictEqual(barsOf(columns));
        },
      ),
      { numRuns: cases({ few: 8, more: 12, all: 100 }) },
    );
  });

  once("int64 and double at their extremes", async () => {
    const columns = columnsOf({
      "A.US": [
        {
          timestamp: -2_208_988_800_000,
          volume: -(2n ** 63n),
          open: 5e-324,
          high: Number.MAX_VALUE,
          low: -0,
        },
        {
          timestamp: 7_258_118_400_000,
          volume: 2n ** 63n - 1n,
          open: -5e-324,
          high: -Number.MAX_VALUE,
          low: 0,
        },
      ],
    });
    expect(await scanned(columns)).toStrictEqual(barsOf(columns));
  });

  test.each(SWEEP === "few" ? [255, 256, 65_536] : [255, 256, 300, 65_535, 65_536, 70_000])(
    "a dictionary of %i symbols",
    async (count) => {
      const bars = Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`S${i}.US`, [{ timestamp: i, volume: BigInt(i) }]]),
      );
      const columns = columnsOf(bars);
      const [row] = await session.withBatch(klineBatch(columns), (table) =>
        session.rows<{ n: bigint; right: bigint }>(
          `SELECT count(*) AS n, count(*) FILTER (symbol::VARCHAR = 'S' || volume || '.US') AS right FROM ${table}`,
        ),
      );
      expect(row).toEqual({ n: BigInt(count), right: BigInt(count) });
    },
  );

  once("no bars, with and without symbols", async () => {
    for (const bars of [{}, { "A.US": [] }]) expect(await scanned(columnsOf(bars))).toEqual(bars);
  });
});

describe("other columns", () => {
  once("texts, truth values and small integers, with nulls, over several vectors", async () => {
    const pick = <T>(i: number, value: T): T | null => (i % 5 === 0 ? null : value);
    const index = Array.from({ length: 5000 }, (_, i) => i);
    const words = index.map((i) => pick(i, `${"\u4e2d\u{1f600}a".repeat(i % 9)}${i}`));
    const flags = index.map((i) => pick(i, i % 3 === 0));
    const ints = index.map((i) => pick(i, -i));
    const times = index.map((i) => BigInt(i) * 1_000_003n);
    const batch = batchOf({
      words: vectorFromArray(words, new Utf8()),
      flags: vectorFromArray(flags, new Bool()),
      ints: vectorFromArray(ints, new Int32()),
      times: new Vector([makeData({ type: new TimestampMicrosecond(), data: BigInt64Array.from(times) })]),
    });
    const rows = await session.withBatch(batch, (table) =>
      session.rows<Record<string, unknown>>(`SELECT words, flags, ints, epoch_us(times) AS us FROM ${table}`),
    );
    expect(rows.map((row) => row.words)).toEqual(words);
    expect(rows.map((row) => row.flags)).toEqual(flags);
    expect(rows.map((row) => row.ints)).toEqual(ints);
    expect(rows.map((row) => row.us)).toEqual(times);
  });

  once("a dictionary without words is all null", async () => {
    const words = vectorFromArray(
      Array.from({ length: 3000 }, () => null),
      new Dictionary(new Utf8(), new Int32()),
    );
    const [row] = await session.withBatch(batchOf({ words }), (table) =>
      session.rows(`SELECT count(*) AS n, count(words) AS present FROM ${table}`),
    );
    expect(row).toEqual({ n: 3000n, present: 0n });
  });

  once("a type without a twin and a sliced batch throw, naming the column", async () => {
    const floats = batchOf({ f: vectorFromArray([1, 2], new Float32()) });
    await expect(session.withBatch(floats, () => Promise.resolve(1))).rejects.toThrow(
      /^column f: Arrow type Float cannot/,
    );
    const sliced = klineBatch(
      columnsOf({ "A.US": [1, 2, 3].map((timestamp) => ({ timestamp, volume: 0n })) }),
    ).slice(1, 3);
    await expect(session.withBatch(sliced, () => Promise.resolve(1))).rejects.toThrow(
      /^column symbol: a sliced batch/,
    );
  });
});

describe("a scan's life", () => {
  once("several batches are read at once, each by its own name", async () => {
    const one = klineBatch(columnsOf({ "A.US": [{ timestamp: 1, volume: 1n }] }));
    const two = klineBatch(columnsOf({ "B.US": [{ timestamp: 1, volume: 2n }] }));
    const rows = await session.withBatch(one, (a) =>
      session.withBatch(two, (b) =>
        session.rows(`SELECT a.volume AS a, b.volume AS b FROM ${a} a JOIN ${b} b USING ("timestamp")`),
      ),
    );
    expect(rows).toEqual([{ a: 1n, b: 2n }]);
  });

  once("the same batch is read twice by one statement", async () => {
    const bars = Array.from({ length: 3000 }, (_, timestamp) => ({ timestamp, volume: 1n }));
    const rows = await session.withBatch(klineBatch(columnsOf({ "A.US": bars })), (table) =>
      session.rows(`SELECT count(*) AS n FROM ${table} a JOIN ${table} b USING ("timestamp")`),
    );
    expect(rows).toEqual([{ n: 3000n }]);
  });

  once("a query gets the columns that it asks for, in its order; also none, and one twice", async () => {
    const bars = Array.from({ length: 5000 }, (_, k) => ({
      timestamp: k,
      volume: BigInt(k),
      close: k / 4,
      open: 1,
    }));
    const checked = await session.withBatch(klineBatch(columnsOf({ "A.US": bars })), (table) =>
      Promise.all([
        session.rows(`SELECT count(*) AS n FROM ${table}`),
        session.rows(
          `SELECT max(volume) AS v, max(close) AS c, min("timestamp")::VARCHAR AS t FROM ${table}`,
        ),
        session.rows(
          `SELECT close AS a, volume AS v, close AS b FROM ${table} WHERE open = 1 AND volume >= 4998`,
        ),
      ]),
    );
    expect(checked).toEqual([
      [{ n: 5000n }],
      [{ v: 4999n, c: 1249.75, t: "1970-01-01 00:00:00" }],
      [
        { a: 1249.5, v: 4998n, b: 1249.5 },
        { a: 1249.75, v: 4999n, b: 1249.75 },
      ],
    ]);
  });

  once(
    "rows have their order where no other is requested, and each comes once, with any number of threads",
    async () => {
      const bars = Array.from({ length: 100_000 }, (_, k) => ({ timestamp: k, volume: BigInt(k) }));
      await session.withBatch(klineBatch(columnsOf({ "A.US": bars })), async (table) => {
        await session.run(`CREATE OR REPLACE TEMP TABLE copied AS SELECT volume FROM ${table}`);
        const [row] = await session.rows(`SELECT count(*) AS n, count(DISTINCT volume) AS m,
          count(*) FILTER (volume <> rowid) AS moved FROM copied`);
        expect(row).toEqual({ n: 100_000n, m: 100_000n, moved: 0n });
        expect(await session.rows(`SELECT sum(volume)::BIGINT AS s, count(*) AS n FROM ${table}`)).toEqual([
          { s: 4_999_950_000n, n: 100_000n },
        ]);
      });
    },
  );

  once("once it is over the batch cannot be read, after an error neither", async () => {
    const batch = klineBatch(columnsOf({ "A.US": [{ timestamp: 1, volume: 1n }] }));
    let name = "";
    await expect(
      session.withBatch(batch, (table) => {
        name = table;
        return Promise.reject(new Error("stop"));
      }),
    ).rejects.toThrow("stop");
    await expect(session.rows(`FROM ${name}`)).rejects.toThrow(QueryError);
    await expect(session.rows(`FROM ${name}`)).rejects.toThrow(/no such batch, or it was released/);
  });

  once("a sibling connection reads it too", async () => {
    using sibling = await session.sibling();
    const batch = klineBatch(columnsOf({ "A.US": [{ timestamp: 1, volume: 9n }] }));
    expect(await sibling.withBatch(batch, (table) => sibling.rows(`SELECT volume FROM ${table}`))).toEqual([
      { volume: 9n },
    ]);
  });
});
