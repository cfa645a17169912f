import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { cases, pickFrom } from "../sweep.js";
import { fillSimulated } from "./simulated-lake.js";

interface Change {
  readonly symbol: string;
  readonly day: number;
  readonly kind: "rename" | "merger" | "reuse" | "delisting";
  readonly to?: string;
  readonly source?: string;
  readonly until?: number;
}

interface NameRow {
  readonly name: string;
  readonly symbol: string;
  readonly from: number;
  readonly to: number;
  readonly preference: number;
}

/** The last bits of a sum of amounts depend on the order of its parts. */
const COLUMNS = "* EXCLUDE (symbol) REPLACE (round(amount, 2) AS amount)";
const [EVER, NEVER] = [-1, 99];

/** Goes from day to day, and moves whoever has a symbol. */
function slowNames(changes: readonly Change[]): NameRow[] {
  const moves = changes.filter(({ kind }) => kind === "rename" || kind === "reuse");
  const symbols = new Set(moves.flatMap(({ symbol, to }) => (to === undefined ? [symbol] : [symbol, to])));
  const holder = new Map<string, number>();
  const lastHolder = new Map<string, number>();
  const held: { symbol: string; from: number; to: number }[][] = [];
  const give = (symbol: string, instrument: number, day: number): void => {
    holder.set(symbol, instrument);
    lastHolder.set(symbol, instrument);
    held[instrument] ??= [];
    held[instrument].push({ symbol, from: day, to: NEVER });
  };
  for (const symbol of symbols) give(symbol, held.length, EVER);
  for (let day = 0; day < 10; day++) {
    const today = moves.filter((one) => one.day === day);
    const before = new Map(holder);
    const given = new Map<string, number | undefined>();
    for (const { symbol } of today) given.set(symbol, undefined);
    for (const { symbol, kind } of today) if (kind === "reuse") given.set(symbol, -1);
    for (const to of new Set(today.flatMap((one) => one.to ?? []))) {
      const first = today.filter((one) => one.to === to).sort((a, b) => (a.symbol < b.symbol ? -1 : 1))[0];
      given.set(to, before.get(first?.symbol ?? "") ?? -1);
    }
    for (const symbol of given.keys()) {
      const last = held[holder.get(symbol) ?? -1]?.at(-1);
      if (last?.symbol === symbol && last.to === NEVER) last.to = day;
      holder.delete(symbol);
    }
    for (const [symbol, instrument] of given)
      if (instrument !== undefined) give(symbol, instrument < 0 ? held.length : instrument, day);
  }
  const standsIn = ({ symbol, from }: { symbol: string; from: number }): boolean =>
    from !== EVER &&
    !changes.some((one) => one.symbol === symbol && one.day <= from) &&
    from === Math.min(...moves.filter(({ to }) => to === symbol).map(({ day }) => day));
  return [...symbols].flatMap((name) => {
    const own = held[lastHolder.get(name) as number] ?? [];
    return own.flatMap(({ from, to }, i) =>
      own.flatMap((later, j) =>
        j === i || (j > i && standsIn(later))
          ? [{ name, symbol: later.symbol, from, to, preference: j - i + 1 }]
          : [],
      ),
    );
  });
}

const sorted = (rows: readonly NameRow[]): string[] =>
  rows
    .map(({ name, symbol, from, to, preference }) => `${name} ${from}-${to} ${symbol} ${preference}`)
    .sort();

describe("names over time", () => {
  const { lake, remove } = newLake();
  let reader: Session;

  beforeAll(async () => {
    await fillSimulated(lake.location, { symbols: 24, days: 400, end: "2026-03-31", minuteDays: 8 });
    reader = (await openReader(lake)).session;
    for (const table of ["bars_1d", "bars_1m", "absences_1d"])
      await reader.run(`CREATE TABLE stored_${table} AS FROM raw.${table}`);
    await reader.run(
      "CREATE TABLE changed AS FROM raw.symbol_changes; CREATE OR REPLACE VIEW raw.symbol_changes AS FROM changed",
    );
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  /** Day 0 is 2026-01-01. */
  const change = async (changes: readonly Change[], first = "2026-01-01"): Promise<void> => {
    await reader.run("DELETE FROM changed");
    await reader.run(
      `INSERT INTO changed BY NAME SELECT r.symbol, DATE '${first}' + r.day AS from_date, coalesce(r.source, 's') AS source, r.kind, r."to" AS new_symbol,
         DATE '${first}' + r.until AS until_date, TIMESTAMPTZ '2026-01-01 00:00:00Z' AS first_seen_at, 'US' AS region
       FROM (SELECT unnest(from_json($1, '[{"symbol":"VARCHAR","day":"INTEGER","kind":"VARCHAR","to":"VARCHAR","source":"VARCHAR","until":"INTEGER"}]')) AS r)`,
      [JSON.stringify(changes)],
    );
  };
  const names = async (asOf?: number): Promise<string[]> => {
    const call = asOf === undefined ? "" : `as_of := DATE '2026-01-01' + ${asOf}`;
    const rows = await reader.json<NameRow>(
      `SELECT name, symbol, preference::INTEGER AS preference,
         CASE WHEN start_date < '2000-01-01' THEN ${EVER} ELSE (start_date - DATE '2026-01-01')::INTEGER END AS "from",
         CASE WHEN end_date > '2100-01-01' THEN ${NEVER} ELSE (end_date - DATE '2026-01-01')::INTEGER END AS "to"
       FROM symbol_names(${call})`,
    );
    return sorted(rows);
  };

  test("equal a slow walk from day to day, also as of a day", async () => {
    const symbol = fc.constantFrom("A.US", "B.US", "C.US", "D.US");
    const one = fc.record({
      symbol,
      day: fc.integer({ min: 0, max: 5 }),
      kind: fc.constantFrom<Change["kind"]>("rename", "rename", "rename", "reuse", "merger", "delisting"),
      to: symbol,
    });
    const all = fc
      .uniqueArray(one, { maxLength: 7, selector: ({ symbol: from, day }) => `${from} ${day}` })
      .map((list) =>
        list.flatMap(({ to, ...rest }): Change[] =>
          rest.kind === "reuse" || rest.kind === "delisting"
            ? [rest]
            : to === rest.symbol
              ? []
              : [{ ...rest, to }],
        ),
      );
    await fc.assert(
      fc.asyncProperty(all, fc.integer({ min: 0, max: 6 }), async (changes, asOf) => {
        await change(changes);
        expect(await names()).toEqual(sorted(slowNames(changes)));
        expect(await names(asOf)).toEqual(sorted(slowNames(changes.filter(({ day }) => day <= asOf))));
      }),
      { numRuns: cases({ few: 20, more: 200, all: 1000 }) },
    );
  });

  once("of sources that differ, the first one's date counts; an end that is stated ends a name", async () => {
    await change([
      { symbol: "A.US", day: 2, kind: "rename", to: "B.US", source: "a" },
      { symbol: "A.US", day: 3, kind: "rename", to: "B.US", source: "b" },
      { symbol: "C.US", day: 1, kind: "rename", to: "D.US", until: 4 },
    ]);
    expect(await names()).toEqual(
      [
        "A.US -1-2 A.US 1",
        "A.US -1-2 B.US 2",
        "A.US 2-99 B.US 1",
        "B.US -1-2 A.US 1",
        "B.US -1-2 B.US 2",
        "B.US 2-99 B.US 1",
        "C.US -1-1 C.US 1",
        "C.US -1-1 D.US 2",
        "C.US 1-4 D.US 1",
        "D.US -1-1 C.US 1",
        "D.US -1-1 D.US 2",
        "D.US 1-4 D.US 1",
      ].sort(),
    );
  });

  test("the bars of a renamed symbol are those that one symbol would have", async () => {
    const some = await reader.json<{ symbol: string; day: string; other: string }>(
      `SELECT symbol, ex_date::VARCHAR AS day, (ex_date + 3)::VARCHAR AS other FROM ex_events
       WHERE ex_date > '2025-03-01' ORDER BY hash(symbol || ex_date) LIMIT 4`,
    );
    expect(some).toHaveLength(4);
    const forms = [
      ["1d", "forward"],
      ["1w", "backward"],
      ["1M", "forward_additive"],
      ["30m", "backward_additive"],
      ["1m", "forward"],
      ["1d", "none"],
    ] as const;
    for (const { symbol, day, other } of pickFrom(some, { few: 1, more: 4, all: 4 })) {
      const region = symbol.split(".")[1];
      const old = `OLD.${region}`;
      // A rename on an ex-date: the event lies between bars of two symbols.
      for (const date of [day, other]) {
        await change([{ symbol: old, day: 0, kind: "rename", to: symbol }], date);
        for (const [table, column] of [
          ["bars_1d", "trade_date"],
          ["bars_1m", "trade_date"],
          ["absences_1d", "first_date"],
        ])
          await reader.run(
            `CREATE OR REPLACE VIEW raw.${table} AS SELECT * REPLACE (CASE WHEN symbol = '${symbol}' AND ${column} < DATE '${date}' THEN '${old}' ELSE symbol END AS symbol) FROM stored_${table}`,
          );
        for (const [period, adjustment] of pickFrom(forms, { few: 1, more: 6, all: 6 }))
          for (const asOf of ["NULL", `DATE '${date}' + 20`, `DATE '${date}' - 1`]) {
            const found = (name: string): Promise<unknown[]> =>
              reader.json(
                `SELECT ${COLUMNS} FROM history('${name}', '${period}', '${adjustment}', as_of := ${asOf}) ORDER BY "timestamp"`,
              );
            const [byOld, byNew] = [await found(old), await found(symbol)];
            for (const table of ["bars_1d", "bars_1m", "absences_1d"])
              await reader.run(
                `ALTER VIEW raw.${table} RENAME TO split_${table}; CREATE VIEW raw.${table} AS FROM stored_${table}`,
              );
            const expected = await reader.json(
              `SELECT ${COLUMNS} FROM adjusted('${period}', '${adjustment}', ${asOf}) WHERE symbol = '${symbol}' ORDER BY "timestamp"`,
            );
            for (const table of ["bars_1d", "bars_1m", "absences_1d"])
              await reader.run(`DROP VIEW raw.${table}; ALTER VIEW raw.split_${table} RENAME TO ${table}`);
            const what = `${symbol} from ${date}: ${period} ${adjustment} as of ${asOf}`;
            expect(byOld, what).toEqual(expected);
            // Before the rename, the new symbol has no bars.
            expect(byNew, what).toEqual(asOf.endsWith("- 1") ? [] : expected);
          }
      }
    }
  });

  describe("of bars of several symbols", () => {
    /** Closes by symbol from 2026-01-05, a Monday; null: no bar. */
    const land = async (closes: Readonly<Record<string, readonly (number | null)[]>>): Promise<void> => {
      await reader.run("CREATE OR REPLACE TABLE few AS FROM stored_bars_1d LIMIT 0");
      await reader.run(
        `INSERT INTO few BY NAME SELECT key AS symbol, day AS trade_date, timezone('America/New_York', day::TIMESTAMP) AS "timestamp", close AS open, close AS high, close AS low,
           close, 1 AS volume, close AS amount, 1 AS lot, true AS is_final, 'US' AS region, 2026 AS year
         FROM (SELECT key, unnest(value) AS close, DATE '2026-01-05' + generate_subscripts(value, 1)::INTEGER - 1 AS day
           FROM (SELECT key, from_json(value, '["DOUBLE"]') AS value FROM json_each($1)))
         WHERE close IS NOT NULL`,
        [JSON.stringify(closes)],
      );
      await reader.run("CREATE OR REPLACE VIEW raw.bars_1d AS FROM few");
    };
    const closesOf = async (name: string, adjustment = "none", asOf = "NULL"): Promise<unknown> => {
      const rows = await reader.json<{ symbol: string; close: number }>(
        `SELECT symbol, close FROM history('${name}', '1d', '${adjustment}', as_of := ${asOf}) ORDER BY "timestamp"`,
      );
      expect(new Set(rows.map(({ symbol }) => symbol)).size).toBeLessThan(2);
      return rows.map(({ close }) => close);
    };

    once("the one that was valid on a day counts, else the newer one", async () => {
      await land({ "FB.US": [1, 2, null, 4, 5], "META.US": [10, 20, 30, 40, 50] });
      await change([{ symbol: "FB.US", day: 3, kind: "rename", to: "META.US" }], "2026-01-05");
      expect(await closesOf("FB.US")).toEqual([1, 2, 30, 40, 50]);
      expect(await closesOf("META.US")).toEqual([1, 2, 30, 40, 50]);
      expect(await closesOf("FB.US", "none", "DATE '2026-01-07'")).toEqual([1, 2]);
      expect(await closesOf("META.US", "none", "DATE '2026-01-07'")).toEqual([10, 20, 30]);
      expect(await closesOf("OTHER.US")).toEqual([]);
    });

    once("a code that another company has since, or had before, is cut there", async () => {
      await land({ "FB.US": [1, 2, null, 4, 5], "META.US": [10, null, 30, 40, 50] });
      await change(
        [
          { symbol: "META.US", day: 1, kind: "rename", to: "METV.US" },
          { symbol: "FB.US", day: 2, kind: "rename", to: "META.US" },
          { symbol: "FB.US", day: 3, kind: "reuse" },
        ],
        "2026-01-05",
      );
      expect(await closesOf("FB.US")).toEqual([4, 5]);
      expect(await closesOf("META.US")).toEqual([1, 2, 30, 40, 50]);
      expect(await closesOf("METV.US")).toEqual([10]);
      expect(await closesOf("FB.US", "none", "DATE '2026-01-07'")).toEqual([1, 2, 30]);
    });

    once("a split, or a factor, on the day of a rename adjusts the prices before it", async () => {
      await land({ "A.US": [40, 40], "B.US": [null, null, 10, 10] });
      await change([{ symbol: "A.US", day: 2, kind: "rename", to: "B.US" }], "2026-01-05");
      expect(await closesOf("A.US", "forward")).toEqual([40, 40, 10, 10]);
      for (const symbol of ["A.US", "B.US"]) {
        await reader.run(`CREATE OR REPLACE TABLE split AS FROM raw.corporate_actions LIMIT 0;
          INSERT INTO split BY NAME SELECT '${symbol}' AS symbol, DATE '2026-01-07' AS ex_date, 'split' AS kind, 's' AS source,
            TIMESTAMPTZ '2026-01-01 00:00:00Z' AS first_seen_at, 4 AS ratio, 'US' AS region;
          CREATE OR REPLACE VIEW raw.corporate_actions AS FROM split`);
        expect(await closesOf("A.US", "forward")).toEqual([10, 10, 10, 10]);
        expect(await closesOf("B.US", "backward")).toEqual([40, 40, 40, 40]);
      }
      await reader.run(`CREATE TABLE stated AS FROM raw.ex_factors LIMIT 0;
        INSERT INTO stated BY NAME SELECT 'B.US' AS symbol, DATE '2026-01-07' AS ex_date, 's' AS source, 5 AS factor,
          TIMESTAMPTZ '2026-01-01 00:00:00Z' AS first_seen_at, 'US' AS region;
        CREATE OR REPLACE VIEW raw.ex_factors AS FROM stated`);
      expect(await closesOf("A.US", "forward")).toEqual([8, 8, 10, 10]);
    });
  });
});
