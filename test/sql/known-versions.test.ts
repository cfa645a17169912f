import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { knownVersionsSql } from "../../src/db/market/statement-sql.js";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { once } from "../once.js";
import { newLake } from "../serve/served-lake.js";
import { cases } from "../sweep.js";

/** A version of a statement; days count from 2024-01-01. */
interface Version {
  readonly symbol: string;
  readonly period: number;
  /** Null: the source states no announcement. */
  readonly announced: number | null;
  readonly seen: number;
  readonly value: number;
}

const DAYS = 24;
/** The ends of the periods, before the first day. */
const PERIODS = ["2023-06-30", "2023-09-30"];
const ZONES = { SH: ["CN", "Asia/Shanghai"], US: ["US", "America/New_York"] } as const;

/** The histories of some companies: a version a batch, or several, each with another announcement. */
const HISTORIES = fc.array(
  fc.uniqueArray(
    fc.record({
      period: fc.nat(PERIODS.length - 1),
      announced: fc.option(fc.integer({ min: 0, max: DAYS - 4 }), { freq: 5 }),
      seen: fc.integer({ min: 0, max: DAYS - 2 }),
    }),
    { maxLength: 9, selector: (one) => [one.period, one.announced, one.seen].join() },
  ),
  { minLength: 30, maxLength: 30 },
);

/** When the version counts from, alone: its announcement if it is the first of it, else the day on which it was seen. */
function countsFrom(version: Version, all: readonly Version[]): number {
  const { period, announced, seen } = version;
  if (announced === null) return seen;
  const isFirst = !all.some((one) => one.period === period && one.announced === announced && one.seen < seen);
  return isFirst ? announced : Math.max(announced, seen);
}

/** The values of a company's periods at the end of each day: told day by day, as a reader of the news would. */
function told(all: readonly Version[], period: number): (number | null)[] {
  const versions = all
    .filter((one) => one.period === period)
    .sort((a, b) => a.seen - b.seen || (a.announced ?? -1) - (b.announced ?? -1));
  let current: Version | undefined;
  return Array.from({ length: DAYS }, (_, day) => {
    for (const version of versions) {
      const from = countsFrom(version, all);
      const isReplaced = versions.some((one) => one.seen > version.seen && one.seen < day);
      if (day === from && !isReplaced) current = version;
      const replaces = versions.some((one) => one.seen < version.seen && countsFrom(one, all) > from);
      if (day === version.seen && from < day && replaces) current = version;
    }
    return current?.value ?? null;
  });
}

/** The values that the newest known period has at the end of each day. */
function toldNewest(all: readonly Version[]): (number | null)[] {
  const periods = PERIODS.map((_, period) => told(all, period)).reverse();
  return Array.from(
    { length: DAYS },
    (_, day) => periods.map((one) => one[day]).find((one) => one !== null) ?? null,
  );
}

let reader: Session;
const { lake, remove } = newLake();
beforeAll(async () => {
  reader = (await openReader(lake, { threads: 1 })).session;
});
afterAll(() => {
  reader.close();
  remove();
});

const dayOf = (day: number): string => new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10);

/** The values at the end of each day, of the companies of a history. */
async function valuesOf(
  versions: readonly Version[],
  query: string,
): Promise<Map<string, (number | null)[]>> {
  const rows = versions.map(({ symbol, period, announced, seen, value }) => {
    const [region, zone] = ZONES[symbol.slice(-2) as keyof typeof ZONES];
    // Late in the evening of the exchange: another date in UTC, where it is the day after.
    return `('${symbol}', DATE '${PERIODS[period]}', ${announced === null ? "NULL::DATE" : `DATE '${dayOf(announced)}'`},
      timezone('${zone}', TIMESTAMP '${dayOf(seen)} 22:30:00'), '${region}', ${value}::DOUBLE)`;
  });
  await reader.run(
    `CREATE OR REPLACE VIEW raw.balance_sheet AS SELECT s.*, ${[
      "total_liabilities",
      "total_equity",
      "equity_attributable",
      "minority_interest",
      "cash_and_equivalents",
      "total_current_assets",
      "total_current_liabilities",
      "short_term_borrowing",
      "long_term_borrowing",
      "inventory",
      "accounts_receivable",
      "retained_earnings",
      "goodwill",
    ]
      .map((name) => `NULL::DOUBLE AS ${name}`)
      .join(
        ", ",
      )} FROM (VALUES ${rows.join(", ")}) s (symbol, period_end, announce_date, first_seen_at, region, total_assets)`,
  );
  const found = await reader.json<{ symbol: string; day: number; value: number }>(query);
  const values = new Map<string, (number | null)[]>();
  for (const { symbol, day, value } of found) {
    const own = values.get(symbol) ?? Array.from({ length: DAYS }, () => null);
    own[day] = value;
    values.set(symbol, own);
  }
  return values;
}

const DATES = `(SELECT day, (DATE '2024-01-01' + day::INTEGER) AS date FROM range(${DAYS}) r(day))`;
const NEWEST = `SELECT symbol, day::DOUBLE AS day, total_assets AS value FROM ${DATES}
  JOIN known_statements('raw.balance_sheet') ON date >= known_from AND date < known_to`;
/** A history's rows are valid until the next one of the period. */
const HISTORY = `SELECT symbol, day::DOUBLE AS day, arg_max(total_assets, (month, known_from)) AS value
  FROM ${DATES} JOIN (SELECT *, lead(known_from) OVER (PARTITION BY symbol, month ORDER BY known_from) AS until
    FROM balance_sheet_history) ON date >= known_from AND (date < until OR until IS NULL) GROUP BY ALL`;

function versionsOf(histories: readonly (readonly Omit<Version, "symbol" | "value">[])[]): Version[] {
  return histories.flatMap((history, company) =>
    history.map((one, n) => ({
      ...one,
      symbol: `${600000 + company}.${company % 2 === 0 ? "SH" : "US"}`,
      value: n + 1,
    })),
  );
}

const runs = { numRuns: cases({ few: 4, more: 40, all: 400 }) };

test("on each day the version counts that a reader of the news would take, whatever came later", async () => {
  await fc.assert(
    fc.asyncProperty(HISTORIES, async (histories) => {
      const versions = versionsOf(histories);
      if (versions.length === 0) return;
      for (const query of [NEWEST, HISTORY]) {
        const found = await valuesOf(versions, query);
        for (const symbol of new Set(versions.map((one) => one.symbol)))
          expect(found.get(symbol), symbol).toEqual(
            toldNewest(versions.filter((one) => one.symbol === symbol)),
          );
      }
    }),
    runs,
  );
});

test("a day's values are those of a lake of that day, and of what was announced by then and is first seen later", async () => {
  await fc.assert(
    fc.asyncProperty(HISTORIES, fc.nat(DAYS - 1), async (histories, day) => {
      const versions = versionsOf(histories);
      const ofDay = versions.filter((version) => {
        const own = versions.filter((one) => one.symbol === version.symbol);
        return version.seen <= day || (version.announced !== null && countsFrom(version, own) <= day);
      });
      if (ofDay.length === 0) return;
      const [then, now] = [await valuesOf(ofDay, NEWEST), await valuesOf(versions, NEWEST)];
      for (const { symbol } of ofDay)
        expect(now.get(symbol)?.slice(0, day + 1), symbol).toEqual(then.get(symbol)?.slice(0, day + 1));
    }),
    runs,
  );
});

const flat = (sql: string): string => sql.replaceAll(/\s+/g, " ");

once("the macro has the text of the rule", () => {
  const file = readFileSync(
    new URL("../../sql/views/statements/known_versions.sql", import.meta.url),
    "utf8",
  );
  const rule = knownVersionsSql(
    "query_table(statements)",
    (instant, region) => `local_date(${instant}, ${region})`,
  );
  expect(flat(file)).toContain(flat(rule));
});
