import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { writeResult } from "../../../src/cli/results/write-result.js";
import { lakePlace } from "../../../src/cli/shell/sql-place.js";
import { literal } from "../../../src/db/quote.js";
import type { ImportOptions } from "../../../src/jobs/import/import-options.js";
import { type ImportReport, type ImportTable, runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { FINAL, openSession, queryLake, T0, temporaryFolder } from "../../lake/temporary-lake.js";
import { cases, pickFrom } from "../../sweep.js";

const RUNS = cases({ few: 1, more: 8, all: 100 });
const FORMATS = ["csv", "json", "parquet", "arrow"] as const;
/** Exports and imports take long to shrink. */
const CHECKS = { numRuns: RUNS, endOnFailure: true };
const clock = virtualClock("2026-11-21T00:00:00Z");
let runs = 0;

const newLake = (): Lake => new Lake(join(temporaryFolder(), "lake"), { hasDatabase: false });

function importInto(
  lake: Lake,
  table: ImportTable,
  file: string,
  options: ImportOptions = {},
): Promise<ImportReport> {
  clock.advance(1000);
  return runImport(lake, table, [file], { ...options, runId: `run-${++runs}` }, clock);
}

/** Writes the result of a query as `barlake sql -o` does. */
async function exportTo(
  folder: string,
  lake: Lake,
  sql: string,
  format: (typeof FORMATS)[number],
): Promise<string> {
  const file = join(folder, `export-${++runs}.${format}`);
  const { session } = await openReader(lake, { threads: 1, statement: sql });
  try {
    await writeResult(lakePlace(session, lake), { sql, format, file });
  } finally {
    session.close();
  }
  return file;
}

/** Two formats, by chance. */
const formats = fc.shuffledSubarray([...FORMATS], { minLength: 2, maxLength: 2 });

/**
 * Exports a table in some formats; each export gives an empty lake the same rows, and changes nothing where they are.
 */
async function expectRoundTrips(
  lake: Lake,
  table: ImportTable,
  chosen: readonly (typeof FORMATS)[number][],
  { exported, compared, options = {} }: { exported: string; compared: string; options?: ImportOptions },
): Promise<void> {
  const folder = temporaryFolder();
  const expected = await queryLake(lake, compared);
  expect(expected.length).toBeGreaterThan(0);
  for (const [i, format] of chosen.entries()) {
    const file = await exportTo(folder, lake, exported, format);
    const other = newLake();
    const first = await importInto(other, table, file, options);
    expect({ format, rejected: first.rejected }).toEqual({ format, rejected: [] });
    expect({ format, rows: await queryLake(other, compared) }).toEqual({ format, rows: expected });
    const { landed } = await importInto(i === 0 ? other : lake, table, file, options);
    expect(landed.map((one) => [one.table, one.inserted, one.updated])).toEqual(
      landed.map((one) => [one.table, 0, 0]),
    );
  }
}

const price = fc.oneof(
  fc.double({ min: 0, max: 1e15, noNaN: true }),
  fc.constantFrom(5e-324, 2.2250738585072014e-308, 0.1 + 0.2, 1 / 3, 1e22, 123456789.12345679, 1.7e300),
);
const volume = fc.oneof(fc.integer({ min: 0, max: 1e9 }), fc.constantFrom(0, Number.MAX_SAFE_INTEGER));
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 3 });
const SYMBOLS = [
  "600000.SH",
  "000001.SZ",
  "00700.HK",
  "AAPL.US",
  "BRK-B.US",
  "BRK.B.US",
  "A^B.US",
  "X_Y.US",
  "rb2405.SHF",
];
const bar = fc.record({
  symbol: fc.constantFrom(...SYMBOLS),
  at: fc.nat(40),
  prices: fc.tuple(price, price, price, price),
  volume,
  amount: price,
  others: fc.tuple(orNull(price), orNull(price.filter((one) => one > 0)), orNull(price)),
  lot: fc.constantFrom(1, 100),
});
type Bar = typeof bar extends fc.Arbitrary<infer T> ? T : never;
const bars = fc.uniqueArray(bar, {
  minLength: 1,
  maxLength: 30,
  selector: ({ symbol, at }) => `${symbol} ${at}`,
});

/** A lake with bars, as a service's K-lines land. @param timeOf the label of a bar, SQL of a timestamp. */
async function lakeOf(
  table: typeof BARS_1D,
  rows: readonly Bar[],
  timeOf: (bar: Bar) => string,
): Promise<Lake> {
  const lake = newLake();
  const session = await openSession();
  await stageBars(session, "staged");
  const double = (value: number | null): string => (value === null ? "NULL" : `'${value}'::DOUBLE`);
  const values = rows.map((one, line) => {
    const [a, b, high, low] = one.prices;
    const [interest, previous, settlement] = one.others;
    const numbers = [a, Math.max(high, low), Math.min(high, low), b].map(double);
    return `(${literal(one.symbol)}, ${timeOf(one)}, ${numbers.join(", ")}, ${one.volume}::BIGINT, ${double(one.amount)},
      ${double(interest)}, ${double(previous)}, ${double(settlement)}, ${one.lot}, 'test', ${line})`;
  });
  await session.run(`INSERT INTO staged (symbol, timestamp, open, high, low, close, volume, amount, open_interest, prev_close, settlement_price, lot, source, line)
    VALUES ${values.join(", ")}`);
  await landBars(session, lake, table, "staged", {
    operation: "TEST",
    runId: "test",
    now: T0,
    finalEnd: FINAL,
    rejects: new Rejects(session, "test"),
  });
  session.close();
  return lake;
}

const zoneOf = (symbol: string): string =>
  symbol.endsWith(".US") ? "America/New_York" : symbol.endsWith(".HK") ? "Asia/Hong_Kong" : "Asia/Shanghai";
const BAR_COLUMNS = `symbol, trade_date, epoch_us(timestamp)::VARCHAR AS at, open, high, low, close, volume, amount, open_interest, prev_close,
  settlement_price, lot`;

test.each(pickFrom(["1965-03-01", "2019-12-20"], { few: 1, more: 2, all: 2 }))(
  "what sql -o writes of bars_1d from %s on is imported as it was",
  async (first) => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(bars, formats, async (rows, chosen) => {
        const lake = await lakeOf(
          BARS_1D,
          rows,
          ({ symbol, at }) => `timezone('${zoneOf(symbol)}', DATE '${first}' + INTERVAL ${at} DAY)`,
        );
        await expectRoundTrips(lake, "bars_1d", chosen, {
          exported: "FROM bars_1d",
          compared: `SELECT ${BAR_COLUMNS} FROM bars_1d ORDER BY ALL`,
        });
      }),
      CHECKS,
    );
  },
);

test("what sql -o writes of bars_1m is imported as it was", async () => {
  expect.hasAssertions();
  await fc.assert(
    fc.asyncProperty(bars, formats, async (rows, chosen) => {
      const lake = await lakeOf(
        BARS_1M,
        rows,
        ({ symbol, at }) =>
          `timezone('${zoneOf(symbol)}', TIMESTAMP '2024-03-08 09:31:00' + INTERVAL ${at % 7} MINUTE + INTERVAL ${3 * Math.floor(at / 7)} DAY)`,
      );
      await expectRoundTrips(lake, "bars_1m", chosen, {
        exported: "FROM bars_1m",
        compared: `SELECT ${BAR_COLUMNS} FROM bars_1m ORDER BY ALL`,
      });
    }),
    CHECKS,
  );
});

/** Names that a file has to quote. */
const name = fc.oneof(
  fc.constantFrom(
    "a, b",
    'the "best"',
    "浦发银行",
    "O'Neill",
    "a;b",
    "line\nbreak",
    "tab\there",
    "=1+1",
    "1.5",
    "2024-01-02",
  ),
  fc.stringMatching(/^[A-Za-z][A-Za-z ,"'é-]{0,10}[A-Za-z]$/),
);
const day = fc
  .integer({ min: 0, max: 20_000 })
  .map((n) => new Date(n * 86_400_000).toISOString().slice(0, 10));
const shares = fc.oneof(fc.integer({ min: 0, max: 1e12 }), fc.constantFrom(0.5, 29_352_080_397.25));

test("what sql -o writes of instruments is imported as it was", async () => {
  const instrument = fc.record(
    {
      symbol: fc.constantFrom(...SYMBOLS),
      name,
      type: fc.constantFrom("stock", "etf", "index", "bond", "fund", "futures", "options", "other"),
      listing_date: day,
      total_shares: shares,
      float_shares: shares,
      lot_size: fc.constantFrom(1, 100, 500),
      tick_size: fc.constantFrom(0.01, 0.001),
      name_en: name,
    },
    { requiredKeys: ["symbol", "type"] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(instrument, { minLength: 1, maxLength: 8, selector: ({ symbol }) => symbol }),
      formats,
      async (rows, chosen) => {
        const lake = newLake();
        const session = await openSession();
        const file = join(temporaryFolder(), "i.json");
        await session.run(`COPY (SELECT unnest(from_json(${literal(JSON.stringify(rows))}, '[{"symbol":"VARCHAR","name":"VARCHAR","type":"VARCHAR","listing_date":"VARCHAR",
          "total_shares":"DOUBLE","float_shares":"DOUBLE","lot_size":"DOUBLE","tick_size":"DOUBLE","name_en":"VARCHAR"}]'), recursive := true)) TO ${literal(file)} (FORMAT json)`);
        session.close();
        expect((await importInto(lake, "instruments", file)).rejected).toEqual([]);
        await expectRoundTrips(lake, "instruments", chosen, {
          exported: "FROM instruments",
          compared: "SELECT * EXCLUDE (known_since) FROM instruments ORDER BY ALL",
        });
      },
    ),
    CHECKS,
  );
});

test("what sql -o writes of universes with their members is imported as it was", async () => {
  const lake = newLake();
  const file = join(temporaryFolder(), "u.json");
  const session = await openSession();
  await session.run(`COPY (SELECT * FROM (VALUES ('CSI 300', 'The "300", of CN', 'index', ['600000.SH', '000001.SZ']),
    ('mine', '我的', 'own', ['BRK-B.US', 'A^B.US', 'X_Y.US'])) AS t(id, name, category, symbols)) TO ${literal(file)} (FORMAT json)`);
  expect((await importInto(lake, "universes", file)).rejected).toEqual([]);
  const members =
    "SELECT u.id, u.name, u.category, u.description, m.symbol FROM universes u JOIN universe_members m USING (id)";
  const lists = `SELECT id, any_value(name) AS name, any_value(category) AS category, list(symbol) AS symbols FROM (${members}) GROUP BY id`;
  const compared = `SELECT id, name, category, symbol FROM (${members}) ORDER BY ALL`;
  const chosen = pickFrom(FORMATS, { few: 1, more: 4, all: 4 });
  await expectRoundTrips(lake, "universes", chosen, { exported: `${members} ORDER BY ALL`, compared });
  await expectRoundTrips(lake, "universes", chosen, { exported: `${lists} ORDER BY id`, compared });
});

test.each(pickFrom(["balance_sheet", "income", "metrics", "shares"] as const, { few: 1, more: 4, all: 4 }))(
  "what sql -o writes of %s is imported as it was",
  async (table) => {
    const items = {
      balance_sheet: ["total_assets", "goodwill"],
      income: ["revenue", "basic_eps"],
      metrics: ["roe", "bps"],
      shares: ["total_shares", "float_shares"],
    }[table];
    const statement = fc.record({
      symbol: fc.constantFrom(...SYMBOLS),
      period: fc.constantFrom("1998-12-31", "2022-12-31", "2023-03-31", "2023-06-30"),
      announced: fc.option(fc.constantFrom("2023-08-01", "2024-02-29")),
      values: fc.tuple(
        orNull(price),
        price.filter((one) => one > 0),
      ),
    });
    const options = table === "income" ? { values: "cumulative" as const } : {};
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(statement, {
          minLength: 1,
          maxLength: 10,
          selector: (one) => `${one.symbol} ${one.period}`,
        }),
        formats,
        async (rows, chosen) => {
          const lake = newLake();
          const file = join(temporaryFolder(), "s.json");
          const session = await openSession();
          const values = rows.map(
            ({ symbol, period, announced, values: [first, second] }) =>
              `(${literal(symbol)}, DATE '${period}', ${announced === null ? "NULL" : `DATE '${announced}'`}, ${first === null ? "NULL" : `'${first}'`}::DOUBLE, '${second}'::DOUBLE)`,
          );
          await session.run(
            `COPY (SELECT * FROM (VALUES ${values.join(", ")}) AS t(symbol, period_end, announce_date, ${items.join(", ")})) TO ${literal(file)} (FORMAT json)`,
          );
          session.close();
          expect((await importInto(lake, table, file, options)).rejected).toEqual([]);
          await expectRoundTrips(lake, table, chosen, {
            exported: `FROM ${table}`,
            compared: `SELECT symbol, period_end, announce_date, ${items.join(", ")} FROM ${table} ORDER BY ALL`,
            options,
          });
        },
      ),
      CHECKS,
    );
  },
);
