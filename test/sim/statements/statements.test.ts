import { describe, expect, test } from "vitest";
import { epochDay, type TradingDate } from "../../../src/core/time.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../src/schema/statements.js";
import type { StatementVersion } from "../../../src/sim/market.js";
import { type StatementRecord, statementRecord } from "../../../src/wire/resources.js";
import { date, END, MARKET, START, SYMBOLS } from "../sample-market.js";

const NOT_DELIVERED = new Set(["symbol", "first_seen_at", "region"]);
const TABLES = { balance_sheet: BALANCE_SHEET, cash_flow: CASH_FLOW } as const;
const KINDS = ["balance_sheet", "cash_flow"] as const;
const versions = {
  balance_sheet: MARKET.statementVersions("balance_sheet", SYMBOLS),
  cash_flow: MARKET.statementVersions("cash_flow", SYMBOLS),
};
const num = (record: StatementRecord, field: string): number => (record[field] as number | null) ?? 0;
const dayOf = (text: string): number => epochDay(text as TradingDate);

describe.each(KINDS)("%s", (kind) => {
  test("has the declared fields, as whole numbers or null", () => {
    const fields = TABLES[kind].columns.map((c) => c.name).filter((name) => !NOT_DELIVERED.has(name));
    for (const { record } of versions[kind]) {
      expect(statementRecord.parse(record)).toEqual(record);
      expect(Object.keys(record).sort()).toEqual([...fields].sort());
      for (const field of fields.slice(2)) {
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
    expect(corrected.length).toBeGreaterThan(30);
    for (const [first, second] of corrected as [StatementVersion, StatementVersion][]) {
      expect(second.firstSeen > first.firstSeen).toBe(true);
      expect(second.record.announce_date).toBe(second.firstSeen);
      expect({ ...second.record, announce_date: null }).not.toEqual({ ...first.record, announce_date: null });
    }
    expect(periods.size).toBeGreaterThan(1000);
  });

  test("on a date is the newest version announced by then, one a period", () => {
    for (const knownBy of [START, date("2026-04-20"), END]) {
      const answered = MARKET.statements(kind, SYMBOLS, knownBy);
      expect(answered.size).toBeGreaterThan(50);
      for (const [symbol, records] of answered) {
        const expected = new Map<string, StatementRecord>();
        for (const version of versions[kind]) {
          if (version.symbol !== symbol || version.firstSeen > knownBy) continue;
          expected.set(version.record.period_end, version.record);
        }
        expect(records).toEqual([...expected.values()]);
        expect(records.map((r) => r.period_end)).toEqual([...expected.keys()].sort());
      }
    }
    expect(MARKET.statements(kind, ["NONE.SH"], END).size).toBe(0);
  });

  test("comes every quarter, in Hong Kong every half-year, from stocks alone", () => {
    for (const { symbol, record } of versions[kind]) {
      const ends = symbol.endsWith(".HK") ? /-(06-30|12-31)$/ : /-(03-31|06-30|09-30|12-31)$/;
      expect(record.period_end).toMatch(ends);
    }
    const funds = new Set(MARKET.instruments.filter((i) => i.type === "etf").map((i) => i.symbol));
    expect(versions[kind].filter((version) => funds.has(version.symbol))).toEqual([]);
  });
});

test("balance sheets balance", () => {
  for (const { record } of versions.balance_sheet) {
    expect(num(record, "total_liabilities") + num(record, "total_equity")).toBe(record.total_assets);
    expect(num(record, "total_current_assets") + num(record, "total_non_current_assets")).toBe(
      record.total_assets,
    );
    expect(num(record, "equity_attributable") + num(record, "minority_interest")).toBe(record.total_equity);
    expect(num(record, "total_current_liabilities") + num(record, "total_non_current_liabilities")).toBe(
      record.total_liabilities,
    );
    const current = ["cash_and_equivalents", "accounts_receivable", "inventory"].map((field) =>
      num(record, field),
    );
    expect(current.reduce((a, b) => a + b)).toBeLessThanOrEqual(num(record, "total_current_assets"));
  }
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
