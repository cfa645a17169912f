import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unitsSql } from "../../../src/db/market/bar-sql.js";
import { isExEventSql } from "../../../src/db/market/ex-terms-sql.js";
import {
  canonicalSymbolSql,
  codeSql,
  exchangeSql,
  isSymbolSql,
  localMidnightSql,
  lotSql,
  regionSql,
  tradeDateSql,
} from "../../../src/db/market/region-sql.js";
import { Session } from "../../../src/db/session/session.js";
import { exFactor, LEAST_EX_CHANGE } from "../../../src/market/ex-rule.js";
import { EXCHANGE_REGION, nearUnitsOf, REGIONS, type Region, unitsOf } from "../../../src/market/regions.js";
import { canonicalSymbol, codeOf, exchangeOf, isSymbol, regionOf } from "../../../src/market/symbol.js";
import { localDate } from "../../../src/market/zone.js";

/** Rules that code computes as well as SQL: both give the same for every value. */
let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 1 });
});
afterAll(() => session.close());

/** The values of an expression for each row of values, which are its columns. */
async function evaluated(
  sql: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly (readonly unknown[])[],
): Promise<unknown[]> {
  const names = Object.keys(columns);
  const fields = names.map((name, n) => `CAST(cells->>${n} AS ${columns[name]}) AS "${name}"`);
  const found = await session.json<{ value: unknown }>(
    `SELECT ${sql} AS value FROM (SELECT ${fields.join(", ")}, position FROM (
       SELECT unnest(CAST($rows AS JSON[])) AS cells, generate_subscripts(CAST($rows AS JSON[]), 1) AS position))
     ORDER BY position`,
    { rows: JSON.stringify(rows) },
  );
  return found.map(({ value }) => value);
}

const sample = <T>(arbitrary: fc.Arbitrary<T>): T[] => fc.sample(arbitrary, 300);

test("an ex-event", async () => {
  const close = fc.oneof(
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    fc.constantFrom(0, -1, 5e-324, 1e308, 10),
  );
  const near = fc.constantFrom(0, 1e-12, 1e-10, 9e-10, LEAST_EX_CHANGE, 1.1e-9, 1e-8, -1e-9, -2e-9, 0.5);
  const pairs = sample(
    fc.oneof(
      fc.tuple(close, close),
      fc.tuple(close, near).map(([price, change]): [number, number] => [price, price * (1 + change)]),
    ),
  );
  const found = await evaluated(
    isExEventSql("last_close", "prev_close"),
    { last_close: "DOUBLE", prev_close: "DOUBLE" },
    pairs,
  );
  expect(found).toEqual(pairs.map(([last, prev]) => exFactor(last, prev) !== 1));
  expect(new Set(found).size).toBe(2);
});

test("shares in units of volume", async () => {
  const pairs = sample(
    fc.tuple(
      fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
      fc.constantFrom(1, 100, 500),
    ),
  );
  const found = await evaluated(
    `CAST(${unitsSql("CAST(shares AS HUGEINT)", "unit")} AS DOUBLE)`,
    {
      shares: "BIGINT",
      unit: "BIGINT",
    },
    pairs,
  );
  for (const [n, [shares, unit]] of pairs.entries()) {
    const units = unitsOf(shares, unit);
    if (units !== undefined) expect(units, `${shares} / ${unit}`).toBe(found[n]);
    expect(Math.abs(nearUnitsOf(shares, unit) - (found[n] as number))).toBeLessThanOrEqual(
      units === undefined ? 1 : 0,
    );
  }
});

test("numbers of shares that do not fit into 64 bits, or not twice", async () => {
  const bounds = [2n ** 53n, 2n ** 61n, 2n ** 62n, 2n ** 63n, 2n ** 64n, 2n ** 70n, 2n ** 100n];
  const anyShares = fc
    .tuple(fc.constantFrom(...bounds), fc.bigInt({ min: -250n, max: 250n }))
    .map(([bound, offset]) => bound + offset);
  const pairs = sample(fc.tuple(anyShares, fc.constantFrom(1n, 100n, 500n)));
  const found = await evaluated(
    unitsSql("shares", "unit"),
    { shares: "HUGEINT", unit: "INTEGER" },
    pairs.map((pair) => pair.map(String)),
  );
  const most = 2n ** 63n - 1n;
  const rounded = pairs.map(([shares, unit]) => (shares * 2n + unit) / (2n * unit));
  expect(found).toEqual(rounded.map((units) => (units < most ? units : most)));
});

test("a symbol's form, its full code and its region", async () => {
  const parts = ["A", "z", "0", "7", ".", "..", "-", "^", "_", " ", "é", "SH", ".abc", ".HKX"];
  const suffixes = Object.keys(EXCHANGE_REGION).map((exchange) => `.${exchange}`);
  const piece = fc.constantFrom(...parts, ...suffixes);
  const known = ["A..SH", "A.B.SH", ".SH", "A.SH", "700.HK", "12345.HK", "1.HKX", "A.SHSHS", "A\n.SH"];
  const texts = [
    ...known,
    `${"1".repeat(30)}.SH`,
    ...sample(fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(""))),
  ];
  const of = (sql: string): Promise<unknown[]> =>
    evaluated(
      sql,
      { text: "VARCHAR" },
      texts.map((text) => [text]),
    );
  expect(await of(isSymbolSql("text"))).toEqual(texts.map(isSymbol));
  expect(await of(canonicalSymbolSql("text"))).toEqual(texts.map(canonicalSymbol));
  expect(await of(regionSql("text"))).toEqual(texts.map((text) => regionOf(text) ?? null));
  expect(isSymbol("A..SH")).toBe(false);
  const symbols = texts.filter(isSymbol);
  const partsOf = (sql: string): Promise<unknown[]> =>
    evaluated(
      sql,
      { text: "VARCHAR" },
      symbols.map((text) => [text]),
    );
  expect(symbols.length).toBeGreaterThan(5);
  expect(await partsOf(codeSql("text"))).toEqual(symbols.map(codeOf));
  expect(await partsOf(exchangeSql("text"))).toEqual(symbols.map(exchangeOf));
});

test("a region's lot, dates and midnights", async () => {
  const rows = sample(
    fc.tuple(
      fc.integer({ min: Date.parse("1975-01-01"), max: Date.parse("2049-12-31") }),
      fc.constantFrom(...(Object.keys(REGIONS) as Region[])),
    ),
  );
  const columns = { ms: "BIGINT", region: "VARCHAR" };
  expect(await evaluated(lotSql("region"), columns, rows)).toEqual(
    rows.map(([, region]) => REGIONS[region].lot),
  );
  const date = tradeDateSql("make_timestamptz(ms * 1000)", "region");
  const dates = rows.map(([ms, region]) => localDate(ms, REGIONS[region].zone));
  expect(await evaluated(`CAST(${date} AS VARCHAR)`, columns, rows)).toEqual(dates);
  const midnights = (await evaluated(
    `CAST(${localMidnightSql(`(${date})`, "region")} AS DOUBLE)`,
    columns,
    rows,
  )) as number[];
  // Twelve hours after it is noon: on a day on which clocks change midnight is an hour off.
  expect(midnights.map((ms, n) => localDate(ms + 43_200_000, REGIONS[rows[n]?.[1] as Region].zone))).toEqual(
    dates,
  );
});
