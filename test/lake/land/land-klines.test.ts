import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time.js";
import { ident, literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { type LandBarsOptions, landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { landKlines } from "../../../src/lake/land/land-klines.js";
import { Rejects, rejectsSql } from "../../../src/lake/land/rejects.js";
import type { LandReport } from "../../../src/lake/land/upsert.js";
import { commit } from "../../../src/lake/log/commit.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import { REGIONS } from "../../../src/market/regions.js";
import { regionOf } from "../../../src/market/symbol.js";
import { BARS_1D, BARS_1M, KLINE_COLUMNS } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import type { DeliveredBars } from "../../../src/wire/bar-segment.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { columnsOf, type PlainBar, type PlainBars } from "../../wire/any-kline-columns.js";
import { liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

const LONG = "A-SYMBOL-OF-31-CHARACTERS-XX.US";
const SYMBOLS = ["600519.SH", "000001.SZ", "00700.HK", "AAPL.US", LONG, "NOWHERE.XX"] as const;

/** Points in time near which a date, a month, a year or a clock changes. */
const CHANGES = [
  "1969-12-31T23:59:59.999Z",
  "1986-05-03T16:00:00Z",
  "1991-09-14T17:00:00Z",
  "2024-03-10T07:00:00Z",
  "2024-11-03T06:00:00Z",
  "2025-12-31T16:00:00Z",
  "2026-01-01T05:00:00Z",
  "2026-11-20T16:00:00Z",
].map(Date.parse);

const anyTime = fc
  .tuple(
    fc.constantFrom(...CHANGES),
    fc.integer({ min: -30, max: 30 }),
    fc.constantFrom(MINUTE_MS, DAY_MS / 4),
  )
  .map(([at, steps, step]) => at + steps * step);
const anyPrice = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 9 }).map((n) => 10 + n / 10) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      undefined,
      1e308,
      -3.5,
      -0,
    ),
  },
);
const anyPlainBar: fc.Arbitrary<PlainBar> = fc
  .record({
    timestamp: anyTime,
    volume: fc.oneof(
      { weight: 9, arbitrary: fc.nat().map(BigInt) },
      fc.constantFrom(-1n, -(2n ** 63n), 2n ** 62n),
    ),
    open: anyPrice,
    low: anyPrice,
    spread: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 1, 2) }, fc.constant(-1)),
    close: anyPrice,
    amount: anyPrice,
    open_interest: fc.option(fc.oneof(fc.nat(), fc.constantFrom(Number.NaN, Infinity)), { nil: undefined }),
    prev_close: fc.option(fc.constantFrom(1, 2.5, 1, 2.5, 0, -1, Number.NaN, Infinity, -Infinity), {
      nil: undefined,
    }),
  })
  .map(({ spread, ...bar }) => ({ ...bar, high: bar.low === undefined ? undefined : bar.low + spread }))
  .chain((bar) =>
    fc.oneof({ weight: 9, arbitrary: fc.constant(bar) }, fc.constant({ ...bar, close: 0, volume: 0n })),
  );

const anyResponse = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom(...SYMBOLS),
      fc.uniqueArray(anyPlainBar, { selector: (bar) => bar.timestamp, maxLength: 25 }),
    ),
    { selector: ([symbol]) => symbol, maxLength: SYMBOLS.length },
  )
  .map((entries) =>
    Object.fromEntries(
      entries.map(([symbol, bars]) => [symbol, bars.toSorted((a, b) => a.timestamp - b.timestamp)]),
    ),
  );

/** Many bars of a symbol, a step apart: so many that the symbol, and of minutes the date, are written as runs. */
const anySeries = fc
  .record({
    symbol: fc.constantFrom(...SYMBOLS),
    start: fc.constantFrom(...CHANGES).map((at) => at - (at % MINUTE_MS)),
    bars: fc.integer({ min: 1, max: 400 }),
    step: fc.constantFrom(MINUTE_MS, 30 * MINUTE_MS, DAY_MS),
    last: fc.constantFrom<Partial<PlainBar>>({}, { prev_close: 9 }, { high: 1 }),
  })
  .map(({ symbol, start, bars, step, last }): [string, PlainBar[]] => [
    symbol,
    Array.from({ length: bars }, (_, i) => ({
      timestamp: start + i * step,
      volume: BigInt(i),
      open: 10 + i,
      high: 11 + i,
      low: 10,
      close: 10,
      amount: i / 7,
      ...(i === bars - 1 ? last : {}),
    })),
  ]);
const anyLongResponse = fc
  .uniqueArray(anySeries, { selector: ([symbol]) => symbol, minLength: 1, maxLength: 5 })
  .map((entries): PlainBars => Object.fromEntries(entries));

/** A response with a bar whose high is below its low: few random ones may have none that is set aside. */
const CROSSED: PlainBars = {
  "600519.SH": [
    { timestamp: CHANGES[7] as number, volume: 1n, open: 10, high: 9, low: 10, close: 10, amount: 1 },
  ],
};

/** A bar between 9 and 12. */
function barAt(timestamp: number, close: number): PlainBar {
  return { timestamp, volume: 1n, open: 10, high: 12, low: 9, close, amount: 1 };
}

/** How a test lands: with a clock that is always at T0, before which everything is final unless the test says otherwise. */
function landOptions(
  rejects: Rejects,
  finalEnd = { CN: T0, HK: T0, US: T0 },
  marketNow?: number,
): LandBarsOptions {
  return { operation: "TEST", runId: "test", now: T0, marketNow, finalEnd, rejects };
}

/** Columns in which a bar may lack a required number. */
function withNulls(bars: PlainBars): DeliveredBars["columns"] {
  const columns = columnsOf(bars);
  const all = Object.values(bars).flat();
  const doubles = { ...columns.doubles };
  for (const name of ["open", "high", "low", "close", "amount"] as const) {
    const values = all.map((bar) => (name in bar ? bar[name] : 0));
    if (!values.includes(undefined)) continue;
    const validity = new Uint8Array(Math.ceil(all.length / 8));
    for (const [i, value] of values.entries()) {
      if (value !== undefined) validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7));
    }
    doubles[name] = { values: Float64Array.from(values, (value) => value ?? 7), validity };
  }
  return { ...columns, doubles };
}

/** Lands deliveries as an import does, through a table and SQL: slower, with the same result. */
async function landBySql(
  session: Session,
  lake: Lake,
  table: TableSchema,
  deliveries: readonly DeliveredBars[],
  options: LandBarsOptions,
): Promise<LandReport> {
  await stageBars(session, "waiting");
  const names = KLINE_COLUMNS.map((c) => ident(c.name)).join(", ");
  for (const { columns, source } of deliveries) {
    if (columns.rows === 0) continue;
    const big = columns.symbols.filter((symbol) => REGIONS[regionOf(symbol) ?? "US"].lot === 100);
    const lot = `CASE WHEN symbol IN ('', ${big.map(literal).join(", ")}) THEN 100 ELSE 1 END`;
    await session.withBatch(klineBatch(columns), (batch) =>
      session.run(
        `INSERT INTO waiting BY NAME SELECT CAST(symbol AS VARCHAR) AS symbol,
           make_timestamptz(epoch_us(CAST(timestamp AS TIMESTAMP))) AS timestamp, ${names},
           ${lot.replace(", )", ")")} AS lot, ${literal(source)} AS source, NULL AS line FROM ${batch}`,
      ),
    );
  }
  return landBars(session, lake, table, "waiting", options);
}

/** The content of a lake, its rejects included. */
async function outcome(session: Session, lake: Lake, table: TableSchema) {
  const rows = await liveRows(
    session,
    lake,
    table,
    "SELECT * REPLACE (epoch_us(timestamp) AS timestamp) FROM live ORDER BY symbol, timestamp",
  );
  const rejects = await session.json(`FROM (${await rejectsSql(lake)}) ORDER BY ALL`);
  const { files } = await lake.snapshot(table);
  const described = [...files.values()].map(({ partitionValues, stats }) => ({ partitionValues, stats }));
  return { rows, rejects, files: described };
}

/** Files whose rows are not stored in the table's order. */
async function unsortedFiles(session: Session, lake: Lake, table: TableSchema): Promise<string[]> {
  const unsorted: string[] = [];
  for (const url of lake.filesOf(await lake.snapshot(table)).urls) {
    const [found] = await session.json<{ steps: bigint }>(
      `SELECT count(*) AS steps FROM (SELECT (symbol, timestamp) <= lag((symbol, timestamp)) OVER (ORDER BY file_row_number) AS back
       FROM read_parquet(${literal(url)}, file_row_number = true)) WHERE back`,
    );
    if (found?.steps !== 0n) unsorted.push(url);
  }
  return unsorted;
}

describe("bars straight from their columns", () => {
  test("any responses, landed in any groups, come to the same as through a table: rows, files, reports, rejects", async () => {
    const session = await openSession({ threads: 2 });
    let rejected = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.oneof(anyResponse, anyLongResponse), { minLength: 1, maxLength: 3 }), {
          minLength: 1,
          maxLength: 2,
        }),
        fc.constantFrom(BARS_1D, BARS_1M),
        fc.record({
          CN: fc.constantFrom(...CHANGES),
          HK: fc.constantFrom(...CHANGES),
          US: fc.constantFrom(...CHANGES),
        }),
        fc.constantFrom(...CHANGES, T0),
        async (groups, table, finalEnd, now) => {
          const [fast, slow] = [temporaryLake(), temporaryLake()];
          const [fastRejects, slowRejects] = [new Rejects(session, "test"), new Rejects(session, "test")];
          for (const group of groups) {
            const deliveries = [...group, ...group.slice(0, 1)].map((bars, i) => ({
              columns: withNulls(bars),
              source: `run/${9 - i}`,
            }));
            expect(
              await landKlines(session, fast, table, deliveries, landOptions(fastRejects, finalEnd, now)),
            ).toEqual(
              await landBySql(session, slow, table, deliveries, landOptions(slowRejects, finalEnd, now)),
            );
          }
          expect(await fastRejects.save(fast)).toEqual(await slowRejects.save(slow));
          const found = await outcome(session, fast, table);
          rejected += found.rejects.length;
          expect(found).toEqual(await outcome(session, slow, table));
          expect(await unsortedFiles(session, fast, table)).toEqual([]);
        },
      ),
      {
        numRuns: cases({ few: 3, all: 101 }),
        examples: [[[[CROSSED]], BARS_1D, { CN: T0, HK: T0, US: T0 }, T0]],
      },
    );
    expect(rejected).toBeGreaterThan(0);
  });

  test.each([
    [0.5, 1],
    [-0.5, 2],
  ])(
    "a filter on prices finds the bars by the bounds of its files, the least being %d, and they are written in %d steps",
    async (least, steps) => {
      const session = await openSession({ threads: 2 });
      const lake = temporaryLake();
      const bars = Array.from({ length: 5000 }, (_, minute): PlainBar => {
        const close = least + minute / 10;
        return {
          timestamp: T0 - minute * MINUTE_MS,
          volume: 1n,
          open: close,
          high: close,
          low: close,
          close,
          amount: 1,
        };
      });
      const columns = columnsOf({ "600519.SH": bars.toReversed() });
      const options = landOptions(new Rejects(session, "test"));
      const statements = vi.spyOn(Session.prototype, "json");
      await landKlines(session, lake, BARS_1M, [{ columns, source: "run/1" }], options);
      const copies = statements.mock.calls.filter(([sql]) => sql.startsWith("COPY"));
      statements.mockRestore();
      expect(copies).toHaveLength(steps);
      expect(copies[0]?.[0]).toContain('"bits of close" AS "close"');
      const { urls } = lake.filesOf(await lake.snapshot(BARS_1M));
      const list = `[${urls.map(literal).join(", ")}]`;
      const count = async (filter: string) =>
        (
          await session.json<{ bars: number }>(
            `SELECT count(*)::INT AS bars FROM read_parquet(${list}) WHERE ${filter}`,
          )
        )[0]?.bars;
      expect(await count(`close < ${least + 0.25}`)).toBe(3);
      expect(await count(`close >= ${least}`)).toBe(5000);
      expect(await count(`close > ${least + 499.85}`)).toBe(1);
      const types = await session.json(
        `SELECT DISTINCT type FROM parquet_metadata(${list}) WHERE path_in_schema = 'close'`,
      );
      expect(types).toEqual([{ type: "DOUBLE" }]);
    },
  );

  test("bars land in a table to which another program has added a column of lists", async () => {
    const session = await openSession({ threads: 1 });
    const lake = temporaryLake();
    const landOne = async (minute: number): Promise<void> => {
      const columns = columnsOf({ "600519.SH": [barAt(T0 + minute * MINUTE_MS, 10)] });
      const options = landOptions(new Rejects(session, "test"));
      await landKlines(session, lake, BARS_1M, [{ columns, source: `run/${minute}` }], options);
    };
    await landOne(0);
    const base = await lake.snapshot(BARS_1M);
    const tags = { name: "tags", type: "string[]", nullable: true, doc: "" } as const;
    const actions = schemaActions(base, [...BARS_1M.columns, tags], T0);
    expect(await commit(lake, base, actions, T0)).toBeDefined();
    await landOne(1);
    const rows = await liveRows(session, lake, BARS_1M, "SELECT close, tags FROM live");
    expect(rows).toEqual([
      { close: 10, tags: null },
      { close: 10, tags: null },
    ]);
  });

  once("a file of many row groups is in order from its first row to its last", async () => {
    const session = await openSession({ threads: 2 });
    const lake = temporaryLake();
    const start = Date.parse("2026-03-02T01:30:00Z");
    const bars = (offset: number): PlainBar[] =>
      Array.from({ length: 9_000 }, (_, i) => ({
        timestamp: start + (i + offset) * MINUTE_MS,
        volume: BigInt(i + 1),
        open: i,
        high: i + 1,
      }));
    const names = Array.from({ length: 24 }, (_, i) => `${String((i * 7) % 24).padStart(6, "0")}.SZ`);
    const deliveries = [0, 9_000].map((offset) => ({
      columns: columnsOf(Object.fromEntries(names.map((name) => [name, bars(offset)]))),
      source: `from ${offset}`,
    }));
    const rejects = new Rejects(session, "test");
    const report = await landKlines(session, lake, BARS_1M, deliveries, landOptions(rejects));
    expect(report).toMatchObject({ inserted: 432_000, filesAdded: 1 });
    expect(await unsortedFiles(session, lake, BARS_1M)).toEqual([]);
    const groups = await session.json<{ rows: bigint }>(
      `SELECT row_group_num_rows AS rows FROM parquet_metadata(${literal(lake.filesOf(await lake.snapshot(BARS_1M)).urls[0] ?? "")})
       WHERE path_in_schema = 'symbol' ORDER BY row_group_id`,
    );
    expect(groups.map(({ rows }) => Number(rows))).toEqual([122_880, 122_880, 122_880, 63_360]);
  });

  test("a symbol and a date of many bars are runs, and not compressed; those of few are values", async () => {
    const session = await openSession({ threads: 1 });
    const day = (minutes: number): PlainBar[] =>
      Array.from({ length: minutes }, (_, i) => ({
        timestamp: T0 - DAY_MS + i * MINUTE_MS,
        volume: 1n,
        prev_close: 1,
      }));
    const runsOf = async (bars: PlainBars): Promise<string[]> => {
      const lake = temporaryLake();
      const deliveries = [{ columns: columnsOf(bars), source: "test" }];
      await landKlines(session, lake, BARS_1M, deliveries, landOptions(new Rejects(session, "test")));
      const [file] = lake.filesOf(await lake.snapshot(BARS_1M)).urls;
      const found = await session.json<{ name: string }>(
        `SELECT path_in_schema AS name FROM parquet_metadata(${literal(file ?? "")}) WHERE compression = 'UNCOMPRESSED'`,
      );
      return found.map(({ name }) => name);
    };
    const always = ["open_interest", "settlement_price", "lot"];
    expect(await runsOf({ "600519.SH": day(32), "000001.SZ": day(32) })).toEqual([
      "symbol",
      "trade_date",
      ...always,
    ]);
    expect(await runsOf({ "600519.SH": day(3), "000001.SZ": day(3) })).toEqual(always);
  });

  once(
    "where one partition cannot be written, no file of another stays, and the next landing completes",
    async () => {
      const session = await openSession({ threads: 2 });
      const lake = temporaryLake();
      const bars: PlainBar[] = [{ timestamp: T0 - DAY_MS, volume: 1n }];
      const columns = columnsOf({ "600519.SH": bars, "00700.HK": bars, "AAPL.US": bars });
      const rejects = new Rejects(session, "test");
      const landing = () =>
        landKlines(session, lake, BARS_1D, [{ columns, source: "test" }], landOptions(rejects));
      const obstacle = join(lake.location, "bars_1d", "region=HK");
      mkdirSync(dirname(obstacle), { recursive: true });
      writeFileSync(obstacle, "not a folder");
      await expect(landing()).rejects.toThrow(/region=HK/);
      const left = readdirSync(lake.location, { recursive: true, encoding: "utf8" });
      expect(left.filter((name) => name.endsWith(".parquet"))).toEqual([]);
      rmSync(obstacle);
      expect(await landing()).toMatchObject({ inserted: 3, filesAdded: 3, version: 0 });
    },
  );

  once("columns whose bars do not ascend, or are not together, are a fault of the caller", async () => {
    const session = await openSession({ threads: 2 });
    const columns = columnsOf({
      "A.US": [
        { timestamp: 2, volume: 1n },
        { timestamp: 2, volume: 1n },
      ],
    });
    const rejects = new Rejects(session, "test");
    const landing = landKlines(
      session,
      temporaryLake(),
      BARS_1D,
      [{ columns, source: "test" }],
      landOptions(rejects),
    );
    await expect(landing).rejects.toThrow(/A\.US: do not ascend in time at row 1/);
  });
});
