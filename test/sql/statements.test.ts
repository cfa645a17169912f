import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME } from "../../src/schema/statements.js";
import { once } from "../once.js";
import { landFinancials, newLake } from "../serve/served-lake.js";
import { pickFrom } from "../sweep.js";
import { fillSimulated } from "./simulated-lake.js";

interface Version {
  readonly symbol: string;
  readonly period_end: string;
  readonly known: string;
  readonly seen: number;
  readonly [item: string]: string | number | null;
}

/** The newest version of each period that was known by a date: the rule, one statement after the other. */
function knownBy(versions: readonly Version[], date: string): Map<string, Version> {
  const newest = new Map<string, Version>();
  for (const version of versions) {
    const key = `${version.symbol} ${version.period_end}`;
    const before = newest.get(key);
    const isNewer =
      before === undefined ||
      before.known < version.known ||
      (before.known === version.known && before.seen < version.seen);
    if (version.known <= date && isNewer) newest.set(key, version);
  }
  return newest;
}

/** Year, month and item of a period some months before. */
function earlier(periodEnd: string, months: number): string {
  const [year, month] = periodEnd.split("-").map(Number) as [number, number];
  return new Date(Date.UTC(year, month - months, 0)).toISOString().slice(0, 10);
}

const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
const combine = (values: readonly (number | null)[], how: (all: number[]) => number): number | null =>
  values.some((value) => value === null) ? null : how(values as number[]);

/**
 * The quarter of the fiscal year that a flow of a period, and of those 3, 6, 9 and 12 months before it, shows: where it falls
 * once, and where what it adds is steadier than the flow itself.
 */
function quarterShown(symbol: string, month: string, flow: readonly (number | null)[]): number | null {
  if (/\.(SH|SZ|BJ)$/.test(symbol)) return Number(month.slice(5, 7)) / 3;
  const isHalfYearly = flow[1] === null && flow[3] === null;
  const list = (isHalfYearly ? [flow[0], flow[2], flow[4]] : [...flow.slice(0, 4), flow[4] ?? flow[0]]).map(
    (value) => value ?? 0,
  );
  if (list.some((value) => value <= 0)) return null;
  const falls = list.flatMap((value, n) => (value < (list[n + 1] ?? 0) ? [n] : []));
  if (falls.length !== 1) return null;
  const added = list
    .slice(0, -1)
    .map((value, n) => (falls[0] === n ? value : value - (list[n + 1] as number)));
  const spread = (values: readonly number[]): number => Math.max(...values) / Math.min(...values);
  if (spread(added) * (isHalfYearly ? 1.25 : 1.5) >= spread(list)) return null;
  return ((falls[0] as number) + 1) * (isHalfYearly ? 2 : 1);
}

/** Twelve months of a flow, of which a value is that of some months ago. */
function twelveMonths(quarter: number | null, flow: (ago: number) => number | null): number | null {
  if (quarter === null) return null;
  if (quarter === 4) return flow(0);
  return combine(
    [flow(0), flow(quarter * 3), flow(12)],
    ([a, b, c]) => (a as number) + (b as number) - (c as number),
  );
}

const AGO = [0, 3, 6, 9, 12];

function expectClose(found: unknown, expected: number | null, what: string): void {
  if (expected === null) expect(found, what).toBeNull();
  else
    expect(Math.abs((found as number) - expected), what).toBeLessThanOrEqual(
      1e-12 * (1 + Math.abs(expected)),
    );
}

describe("statements of a simulated market", () => {
  const { lake, remove } = newLake();
  let reader: Session;
  const versions = { balance_sheet: [] as Version[], cash_flow: [] as Version[], income: [] as Version[] };
  const dates = ["2023-04-30", "2024-02-10", "2024-09-02", "2025-06-30", "2026-03-31"];
  /** Other dates with another commit. */
  const some = pickFrom(dates, { few: 1, more: 5, all: 5 });

  beforeAll(async () => {
    await fillSimulated(lake.location, { symbols: 24, days: 600, end: "2026-03-31", minuteDays: 0 });
    reader = (await openReader(lake)).session;
    for (const table of ["balance_sheet", "cash_flow", "income"] as const) {
      // The simulated market's statements are first seen at eight in the morning of the exchange.
      const zones = "CASE region WHEN 'US' THEN 'America/New_York' ELSE 'Asia/Shanghai' END";
      versions[table] = await reader.json<Version>(
        `SELECT * EXCLUDE (period_end, announce_date, first_seen_at, region), period_end::VARCHAR AS period_end,
           coalesce(announce_date, (first_seen_at AT TIME ZONE ${zones})::DATE)::VARCHAR AS known,
           epoch_ms(first_seen_at)::DOUBLE AS seen
         FROM raw.${table}`,
      );
    }
  });
  afterAll(() => {
    reader.close();
    remove();
  });

  test.each(some)(
    "as of %s: twelve months, quarters, changes and ratios equal a slow reference",
    async (date) => {
      const [sheets, flows] = [knownBy(versions.balance_sheet, date), knownBy(versions.cash_flow, date)];
      const rows = await reader.json<Record<string, unknown> & { symbol: string; month: string }>(
        `SELECT * REPLACE (month::VARCHAR AS month) FROM statements_asof('${date}') ORDER BY symbol, month`,
      );
      const incomes = knownBy(versions.income, date);
      const keys = new Set([...sheets.keys(), ...flows.keys(), ...incomes.keys()]);
      expect(rows.map((row) => `${row.symbol} ${row.month}`).sort()).toEqual([...keys].sort());
      expect(rows.length).toBeGreaterThan(40);
      for (const row of rows) {
        const { month } = row;
        const what = `${row.symbol} ${month} as of ${date}`;
        const flow = (monthsAgo: number, item = "net_operating_cash_flow"): number | null =>
          number(flows.get(`${row.symbol} ${earlier(month, monthsAgo)}`)?.[item]);
        const sheet = (monthsAgo: number, item: string): number | null =>
          number(sheets.get(`${row.symbol} ${earlier(month, monthsAgo)}`)?.[item]);
        const revenue = (ago: number): number | null =>
          number(incomes.get(`${row.symbol} ${earlier(month, ago)}`)?.revenue);
        const quarter = quarterShown(row.symbol, month, AGO.map(revenue));
        const twelve = (item: string): number | null => twelveMonths(quarter, (ago) => flow(ago, item));
        const alone = (ago: number): number | null => {
          if (quarter === null) return null;
          return (quarter * 3 - ago) % 12 === 3
            ? flow(ago)
            : combine([flow(ago), flow(ago + 3)], ([a, b]) => (a as number) - (b as number));
        };
        const change = (now: number | null, before: number | null): number | null =>
          before === 0
            ? null
            : combine([now, before], ([a, b]) => ((a as number) - (b as number)) / Math.abs(b as number));
        expectClose(row.operating_cash_flow_ttm, twelve("net_operating_cash_flow"), what);
        expectClose(row.capex_ttm, twelve("capex"), what);
        expectClose(row.operating_cash_flow_quarter, alone(0), what);
        expectClose(row.operating_cash_flow_qoq, change(alone(0), alone(3)), what);
        expectClose(row.operating_cash_flow_yoy, change(flow(0), flow(12)), what);
        expectClose(
          row.free_cash_flow,
          combine([flow(0), flow(0, "capex")], ([a, b]) => (a as number) - (b as number)),
          what,
        );
        expectClose(row.book_value, sheet(0, "equity_attributable"), what);
        expectClose(row.total_assets_yoy, change(sheet(0, "total_assets"), sheet(12, "total_assets")), what);
        expectClose(
          row.book_value_qoq,
          change(sheet(0, "equity_attributable"), sheet(3, "equity_attributable")),
          what,
        );
        const operating = (ago: number): number | null =>
          combine(
            [
              "total_current_assets",
              "cash_and_equivalents",
              "total_current_liabilities",
              "short_term_borrowing",
            ].map((item) => sheet(ago, item)),
            ([assets, cash, owed, borrowed]) =>
              (assets as number) - (cash as number) - ((owed as number) - (borrowed as number)),
          );
        const accruals = combine(
          [operating(0), operating(12), sheet(0, "total_assets"), sheet(12, "total_assets")],
          ([now, before, a, b]) =>
            ((now as number) - (before as number)) / (((a as number) + (b as number)) / 2),
        );
        expectClose(row.accruals, accruals, what);
        const income = incomes.get(`${row.symbol} ${month}`);
        for (const item of ["revenue", "net_income_attributable", "basic_eps"])
          expect(row[item], what).toBe(income?.[item] ?? null);
        const equity = number(row.book_value);
        const onEquity = combine(
          [number(row.net_income_ttm), equity],
          ([earned, book]) => (earned as number) / (book as number),
        );
        expectClose(row.return_on_equity, equity !== null && equity > 0 ? onEquity : null, what);
      }
      const asHistory = await reader.json(
        `SELECT symbol, month::VARCHAR AS month, revenue_ttm, net_income_ttm, gross_margin, net_income_yoy
         FROM income_history WHERE known_from <= '${date}'
         QUALIFY row_number() OVER (PARTITION BY symbol, month ORDER BY known_from DESC) = 1 ORDER BY symbol, month`,
      );
      expect(
        await reader.json(
          `SELECT symbol, month::VARCHAR AS month, revenue_ttm, net_income_ttm, gross_margin, net_income_yoy
           FROM statements_asof('${date}') WHERE income_period_end IS NOT NULL ORDER BY symbol, month`,
        ),
      ).toEqual(asHistory);
      expect(rows.some((row) => row.return_on_equity !== null)).toBe(true);
      expect(rows.filter((row) => row.operating_cash_flow_ttm !== null).length).toBeGreaterThan(10);
    },
  );

  test.each(some)(
    "as of %s: the income's twelve months, margins and growth equal a slow reference",
    async (date) => {
      const known = knownBy(versions.income, date);
      const rows = await reader.json<Record<string, unknown> & { symbol: string; month: string }>(
        `SELECT * REPLACE (month::VARCHAR AS month) FROM income_history WHERE known_from <= '${date}'
       QUALIFY row_number() OVER (PARTITION BY symbol, month ORDER BY known_from DESC) = 1`,
      );
      expect(rows.map((row) => `${row.symbol} ${row.month}`).sort()).toEqual([...known.keys()].sort());
      let sums = 0;
      for (const { symbol, month, ...row } of rows) {
        const what = `${symbol} ${month} as of ${date}`;
        const item = (ago: number, name: string): number | null =>
          number(known.get(`${symbol} ${earlier(month, ago)}`)?.[name]);
        // Outside China the fiscal year must show in the revenues that are known.
        const revenue = item(0, "revenue") as number;
        const yearAgo = item(12, "revenue");
        const shown = AGO.map((ago) => item(ago, "revenue"));
        const quarter = quarterShown(symbol, month, shown);
        expect(row.fiscal_quarter, what).toBe(quarter);
        expect(row.is_calendar_year, what).toBe(
          quarter !== null && quarter * 3 === Number(month.slice(5, 7)),
        );
        const twelve = (name: string): number | null => twelveMonths(quarter, (ago) => item(ago, name));
        expectClose(row.revenue_ttm, twelve("revenue"), what);
        expectClose(row.net_income_ttm, twelve("net_income_attributable"), what);
        expectClose(row.gross_margin, (revenue - (item(0, "operating_cost") as number)) / revenue, what);
        const growth = combine(
          [revenue, yearAgo],
          ([a, b]) => ((a as number) - (b as number)) / Math.abs(b as number),
        );
        expectClose(row.revenue_yoy, growth, what);
        if (row.net_income_ttm !== null && quarter !== 4) sums += 1;
      }
      // The first date is too early for a year before.
      if (date > "2024-03") expect(sums).toBeGreaterThan(5);
    },
  );

  once(
    "a day's valuation is made of the newest period that was known that day, in the version known that day",
    async () => {
      let compared = 0;
      for (const date of dates) {
        const sheets = knownBy(versions.balance_sheet, date);
        const rows = await reader.json<Record<string, unknown> & { symbol: string }>(
          `SELECT v.symbol, v.balance_sheet_period_end::VARCHAR AS period, v.book_value, v.price_to_book, v.market_value, v.close,
           v.income_period_end::VARCHAR AS income_period, v.net_income_ttm, v.price_to_earnings, v.return_on_equity,
           CASE WHEN i.known = 'observed' AND i.total_shares IS NOT NULL THEN i.total_shares
             ELSE coalesce(m.total_shares, i.total_shares) END AS total_shares
         FROM daily_valuation v LEFT JOIN instruments_asof('${date}') i USING (symbol)
         LEFT JOIN daily_metrics m ON m.symbol = v.symbol AND m.trade_date = v.trade_date
         WHERE v.trade_date = '${date}'`,
        );
        for (const row of rows) {
          const own = [...sheets.values()].filter(({ symbol }) => symbol === row.symbol);
          const newest = own.sort((a, b) => (a.period_end < b.period_end ? 1 : -1))[0];
          expect(row.period, `${row.symbol} ${date}`).toBe(newest?.period_end ?? null);
          expect(row.book_value).toBe(newest?.equity_attributable ?? null);
          const incomes = [...knownBy(versions.income, date).values()].filter(
            ({ symbol }) => symbol === row.symbol,
          );
          const periods = incomes.map((one) => one.period_end).sort();
          expect(row.income_period, `${row.symbol} ${date}`).toBe(periods.at(-1) ?? null);
          const shares = number(row.total_shares);
          expect(row.market_value).toBe(shares === null ? null : (row.close as number) * shares);
          if (newest === undefined || shares === null) continue;
          expect(row.price_to_book).toBe((row.market_value as number) / (row.book_value as number));
          const earned = number(row.net_income_ttm);
          const value = row.market_value as number;
          expectClose(
            row.price_to_earnings,
            earned !== null && earned > 0 ? value / earned : null,
            row.symbol,
          );
          expectClose(
            row.return_on_equity,
            earned === null ? null : earned / (row.book_value as number),
            row.symbol,
          );
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(20);
    },
  );
});

once("twelve months of a Chinese company, before and after a restatement of the year before", async () => {
  const { lake, remove } = newLake();
  const flow = (period_end: string, announce_date: string, net_operating_cash_flow: number) => ({
    symbol: "600519.SH",
    period_end,
    announce_date,
    net_operating_cash_flow,
  });
  const seen = (date: string): number => Date.parse(`${date}T10:00:00Z`);
  await landFinancials(
    lake,
    CASH_FLOW,
    [
      flow("2024-03-31", "2024-04-30", 30),
      flow("2024-12-31", "2025-04-30", 100),
      flow("2025-03-31", "2025-04-30", 40),
    ],
    seen("2025-04-30"),
  );
  await landFinancials(lake, CASH_FLOW, [flow("2024-12-31", "2025-08-30", 90)], seen("2025-08-30"));
  await landFinancials(
    lake,
    BALANCE_SHEET,
    [
      {
        symbol: "AAPL.US",
        period_end: "2013-12-28",
        announce_date: "2014-01-28",
        total_assets: 200,
        total_liabilities: 80,
      },
    ],
    seen("2025-04-30"),
  );
  const { session } = await openReader(lake, { threads: 1 });
  try {
    const twelve = async (date: string): Promise<unknown> =>
      (
        await session.json<{ ttm: number }>(
          `SELECT operating_cash_flow_ttm AS ttm FROM statements_asof('${date}') WHERE month = '2025-03-31'`,
        )
      ).map(({ ttm }) => ttm);
    expect(await twelve("2025-04-29")).toEqual([]);
    expect(await twelve("2025-04-30")).toEqual([110]);
    expect(await twelve("2025-08-30")).toEqual([100]);
    // A year of 52 weeks ends before the month does.
    expect(
      await session.json(
        "SELECT symbol, month::VARCHAR AS month, debt_to_assets FROM statements_asof() WHERE symbol = 'AAPL.US'",
      ),
    ).toEqual([{ symbol: "AAPL.US", month: "2013-12-31", debt_to_assets: 0.4 }]);
  } finally {
    session.close();
    remove();
  }
});

once.each([
  // Cumulated from January: the twelve months are known once a year before is.
  ["12", [10, 20, 30, 40, 11, 22, 33, 44], [null, null, null, 40, 41, 42, 43, 44]],
  // Fiscal years that end in September, June or March.
  ["09", [20, 30, 40, 10, 22, 33, 44, 11], [null, null, null, null, 42, 43, 44, 45]],
  ["06", [30, 40, 10, 20, 33, 44, 11, 22], [null, null, null, null, 43, 44, 45, 46]],
  ["03", [40, 10, 20, 30, 44, 11, 22, 33], [null, null, null, null, 44, 45, 46, 47]],
  // The history begins within a fiscal year.
  ["06", [null, null, 10, 20, 33, 44, 11, 22], [null, null, null, null, null, 44, 45, 46]],
  ["03", [null, 10, 20, 30, 44, 11, 22, 33], [null, null, null, null, 44, 45, 46, 47]],
  // Quarters alone, and a year in place of its last quarter: no twelve months are known.
  ["12", [58, 60, 65, 111, 59, 61, 66, 112], Array(8).fill(null)],
  ["12", [22, 24, 23, 27, 22, 24, 23, 27], Array(8).fill(null)],
  ["12", [10, 14, 20, 30, 11, 15, 21, 31], Array(8).fill(null)],
  ["12", [10, 11, 12, 45, 11, 12, 13, 50], Array(8).fill(null)],
  // A year that is missing between.
  ["09", [20, 30, null, 10, 22, 33, 44, 11], [null, null, null, null, null, null, 44, 45]],
] as const)("a fiscal year that ends in month %s, of an American company", async (_, revenues, expected) => {
  const { lake, remove } = newLake();
  const ends = ["2024", "2025"].flatMap((year) =>
    ["03-31", "06-30", "09-30", "12-31"].map((day) => `${year}-${day}`),
  );
  await landFinancials(
    lake,
    INCOME,
    ends.map((period_end, at) => ({
      symbol: "AAPL.US",
      period_end,
      announce_date: `${period_end.slice(0, 8)}28`,
      revenue: revenues[at],
    })),
  );
  const { session } = await openReader(lake, { threads: 1, statement: "income_history" });
  try {
    const rows = await session.json<{ ttm: number | null }>(
      `SELECT revenue_ttm AS ttm FROM income_history QUALIFY row_number() OVER (PARTITION BY month ORDER BY known_from DESC) = 1
       ORDER BY month`,
    );
    expect(rows.map(({ ttm }) => ttm)).toEqual(expected);
  } finally {
    session.close();
    remove();
  }
});
