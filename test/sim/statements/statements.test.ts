import { describe, expect, test } from "vitest";
import { epochDay, type TradingDate } from "../../../src/core/time.js";
import {
  STATEMENT_NAMES,
  STATEMENTS,
  type StatementName,
  statementFieldsOf,
} from "../../../src/schema/statements.js";
import type { StatementVersion } from "../../../src/sim/market.js";
import { type StatementRecord, statementRecord } from "../../../src/wire/resources.js";
import { date, END, MARKET, START, SYMBOLS } from "../sample-market.js";

const versions = Object.fromEntries(
  STATEMENT_NAMES.map((kind) => [kind, MARKET.statementVersions(kind, SYMBOLS)]),
) as Record<StatementName, StatementVersion[]>;
const num = (record: StatementRecord, field: string): number => (record[field] as number | null) ?? 0;
/** Compares as text first: there are many thousands of records, and a deep comparison of each takes seconds. */
function expectSame(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
}

const dayOf = (text: string): number => epochDay(text as TradingDate);

describe.each(STATEMENT_NAMES)("%s", (kind) => {
  test("has the declared fields, as whole numbers or null", () => {
    const fields = statementFieldsOf(STATEMENTS[kind]).filter(({ type }) => type === "double");
    const whole = fields.filter(({ unit }) => unit === "currency" || unit === "shares");
    const names = ["announce_date", "period_end", ...fields.map(({ name }) => name)].sort();
    expect(versions[kind].length).toBeGreaterThan(100);
    for (const { record } of versions[kind]) {
      expectSame(statementRecord.parse(record), record);
      expectSame(Object.keys(record).sort(), names);
      for (const { name: field } of whole) {
        if (record[field] !== null && !Number.isSafeInteger(record[field]))
          throw new Error(`${field} in ${JSON.stringify(record)}`);
      }
    }
  });

  test("is announced 20 to 100 days after the period, at times without telling, and corrected at times", () => {
    const periods = new Map<string, StatementVersion[]>();
    for (const version of versions[kind]) {
      const key = `${version.symbol} ${version.record.period_end}`;
      periods.set(key, [...(periods.get(key) ?? []), version]);
    }
    const longListed = new Set(
      MARKET.instruments.filter((i) => i.listed <= "2024-01-01").map((i) => i.symbol),
    );
    const firsts = [...periods.values()].flatMap((list) => list[0] ?? []);
    const delays = firsts
      .filter(({ symbol, record }) => longListed.has(symbol) && record.period_end > "2024-01-01")
      .map(({ firstSeen, record }) => dayOf(firstSeen) - dayOf(record.period_end));
    expect([Math.min(...delays), Math.max(...delays)]).toEqual([20, 100]);
    const announced = versions[kind].filter(({ record }) => record.announce_date !== null);
    expect(announced.every(({ record, firstSeen }) => record.announce_date === firstSeen)).toBe(true);
    expect(versions[kind].length - announced.length).toBeGreaterThan(30);
    const corrected = [...periods.values()].filter((list) => list.length === 2);
    expect(firsts.length + corrected.length).toBe(versions[kind].length);
    if (kind === "shares") expect(corrected).toEqual([]);
    else expect(corrected.length).toBeGreaterThan(30);
    const odd = (corrected as [StatementVersion, StatementVersion][]).filter(([first, second]) => {
      const [before, after] = [first, second].map(({ record }) =>
        JSON.stringify({ ...record, announce_date: null }),
      );
      const isLater = second.firstSeen > first.firstSeen && second.record.announce_date === second.firstSeen;
      return !isLater || before === after;
    });
    expect(odd).toEqual([]);
    expect(periods.size).toBeGreaterThan(1000);
  });

  test("on a date is the newest version announced by then, one a period", () => {
    const bySymbol = new Map<string, StatementVersion[]>();
    for (const version of versions[kind]) {
      const list = bySymbol.get(version.symbol);
      if (list === undefined) bySymbol.set(version.symbol, [version]);
      else list.push(version);
    }
    for (const knownBy of [START, date("2026-04-20"), END]) {
      const answered = MARKET.statements(kind, SYMBOLS, knownBy);
      expect(answered.size).toBeGreaterThan(50);
      for (const [symbol, records] of answered) {
        const expected = new Map<string, StatementRecord>();
        for (const version of bySymbol.get(symbol) ?? []) {
          if (version.firstSeen > knownBy) continue;
          expected.set(version.record.period_end, version.record);
        }
        expectSame(records, [...expected.values()]);
        expectSame(
          records.map((r) => r.period_end),
          [...expected.keys()].sort(),
        );
      }
    }
    expect(MARKET.statements(kind, ["NONE.SH"], END).size).toBe(0);
  });

  test("comes every quarter, in Hong Kong every half-year, from stocks alone", () => {
    const odd = versions[kind].filter(({ symbol, record }) => {
      const ends = symbol.endsWith(".HK") ? /-(06-30|12-31)$/ : /-(03-31|06-30|09-30|12-31)$/;
      return !ends.test(record.period_end);
    });
    expect(odd).toEqual([]);
    const funds = new Set(MARKET.instruments.filter((i) => i.type === "etf").map((i) => i.symbol));
    expect(versions[kind].filter((version) => funds.has(version.symbol))).toEqual([]);
  });
});

test("balance sheets balance", () => {
  const odd = versions.balance_sheet.filter(({ record }) => {
    const sum = (...fields: string[]): number =>
      fields.reduce((total, field) => total + num(record, field), 0);
    return !(
      sum("total_liabilities", "total_equity") === record.total_assets &&
      sum("total_current_assets", "total_non_current_assets") === record.total_assets &&
      sum("equity_attributable", "minority_interest") === record.total_equity &&
      sum("total_current_liabilities", "total_non_current_liabilities") === record.total_liabilities &&
      sum("cash_and_equivalents", "accounts_receivable", "inventory") <= num(record, "total_current_assets")
    );
  });
  expect(odd).toEqual([]);
});

test("cash flows add up, from the start of the year, to the change of the cash on the balance sheet", () => {
  const cash = new Map<string, number>();
  for (const { symbol, record } of versions.balance_sheet) {
    cash.set(`${symbol} ${record.period_end}`, num(record, "cash_and_equivalents"));
  }
  let compared = 0;
  for (const { symbol, record } of versions.cash_flow) {
    const flows = ["operating", "investing", "financing"].map((flow) => num(record, `net_${flow}_cash_flow`));
    expect(flows.reduce((a, b) => a + b)).toBe(record.net_cash_change);
    const yearBefore = `${Number(record.period_end.slice(0, 4)) - 1}-12-31`;
    const [before, after] = [cash.get(`${symbol} ${yearBefore}`), cash.get(`${symbol} ${record.period_end}`)];
    if (before === undefined || after === undefined) continue;
    expect(after - before).toBe(record.net_cash_change);
    compared++;
  }
  expect(compared).toBeGreaterThan(500);
});

const byPeriod = (kind: StatementName): Map<string, StatementRecord> =>
  new Map(
    versions[kind].map(({ symbol, record, firstSeen }) => [
      `${symbol} ${record.period_end} ${firstSeen}`,
      record,
    ]),
  );

test("an income statement adds up, and its flows grow from the start of the year", () => {
  for (const { record } of versions.income) {
    const [revenue, cost, operating] = ["revenue", "operating_cost", "operating_profit"].map((f) =>
      num(record, f),
    );
    const expenses = ["selling_expense", "admin_expense", "rd_expense", "financial_expense"].map((f) =>
      num(record, f),
    );
    expect((revenue as number) - (cost as number) - expenses.reduce((a, b) => a + b)).toBe(operating);
    expect(
      (operating as number) + num(record, "non_operating_income") - num(record, "non_operating_expense"),
    ).toBe(record.total_profit);
    expect(num(record, "total_profit") - num(record, "income_tax")).toBe(record.net_income);
  }
  const losses = versions.income.filter(({ record }) => num(record, "net_income") < 0);
  expect(losses.length).toBeLessThan(versions.income.length / 3);
  const firsts = new Map(
    versions.income.map(({ symbol, record }) => [`${symbol} ${record.period_end}`, record]),
  );
  let grown = 0;
  for (const { symbol, record } of versions.income) {
    if (!record.period_end.endsWith("-12-31")) continue;
    const half = firsts.get(`${symbol} ${record.period_end.slice(0, 4)}-06-30`);
    if (half === undefined) continue;
    expect(num(record, "revenue")).toBeGreaterThan(num(half, "revenue"));
    grown++;
  }
  expect(grown).toBeGreaterThan(100);
});

test("key figures follow from the statements, and shares from the instruments", () => {
  const [income, sheets, flows, shares] = (["income", "balance_sheet", "cash_flow", "shares"] as const).map(
    byPeriod,
  );
  const totals = new Map(
    versions.shares.map(({ symbol, record }) => [`${symbol} ${record.period_end}`, record]),
  );
  let compared = 0;
  for (const { symbol, record, firstSeen } of versions.metrics) {
    const key = `${symbol} ${record.period_end} ${firstSeen}`;
    const [own, sheet, flow] = [income, sheets, flows].map((map) => map?.get(key) as StatementRecord);
    const counted = totals.get(`${symbol} ${record.period_end}`);
    // A company that lists between an announcement and its correction has the correction alone.
    if (counted === undefined) continue;
    const total = num(counted, "total_shares");
    expect(record.eps_basic).toBe((own as StatementRecord).basic_eps);
    expect(record.eps_basic).toBeCloseTo(num(own as StatementRecord, "net_income_attributable") / total, 4);
    expect(record.bps).toBeCloseTo(num(sheet as StatementRecord, "equity_attributable") / total, 4);
    expect(record.ocfps).toBeCloseTo(num(flow as StatementRecord, "net_operating_cash_flow") / total, 4);
    expect(record.net_margin).toBeCloseTo(
      num(own as StatementRecord, "net_income") / num(own as StatementRecord, "revenue"),
      5,
    );
    compared++;
  }
  expect(compared).toBeGreaterThan(1000);
  expect(shares?.size).toBe(versions.shares.length);
  const period = date("2026-06-30");
  const listed = new Map(MARKET.instrumentsAsOf(period).map((one) => [one.symbol, one.ext]));
  const stated = versions.shares.filter(
    ({ symbol, record }) => record.period_end === period && listed.has(symbol),
  );
  expect(stated.length).toBeGreaterThan(50);
  for (const { symbol, record } of stated) {
    const { total_shares, float_shares } = listed.get(symbol) as Record<string, unknown>;
    expect([record.total_shares, record.float_shares]).toEqual([total_shares, float_shares]);
  }
});
