import { dateOfEpochDay, epochDay, type TradingDate } from "../../core/time.js";
import { INCOME_FLOWS } from "../../schema/statements.js";
import type { SimInstrument } from "../instrument.js";
import { bell, mix, uniform } from "../random.js";
import { hasResearch, type IncomeFlow, incomeOfQuarter } from "./income.js";

/**
 * The numbers of one statement by field name. Amounts are in whole units of currency; null where a company reports
 * none.
 */
export type StatementFields = Readonly<Record<string, number | null>>;

/** A company's accounts at the end of a quarter. */
export interface QuarterAccounts {
  readonly periodEnd: TradingDate;
  /** 1 to 4; the fiscal year is the calendar year. */
  readonly quarter: number;
  readonly balanceSheet: StatementFields;
  /** Flows from the start of the year to the end of the period. */
  readonly cashFlow: StatementFields;
  /** Flows from the start of the year to the end of the period, without values per share. */
  readonly income: StatementFields;
}

const QUARTER_ENDS = ["03-31", "06-30", "09-30", "12-31"] as const;

/** Every quarter that ends in the years `from` to `to`, both inclusive, in order. */
export function companyAccounts(instrument: SimInstrument, from: number, to: number): QuarterAccounts[] {
  const accounts: QuarterAccounts[] = [];
  let assets = Math.max(5e7, instrument.turnover * (4 + 40 * uniform(instrument.key, 60)));
  let cash = cashOf(instrument, 0, assets);
  for (let year = from; year <= to; year++) {
    let operating = 0;
    let investing = 0;
    let financing = 0;
    let capex = 0;
    const income = Object.fromEntries(INCOME_FLOWS.map((name) => [name, 0])) as Record<IncomeFlow, number>;
    for (const [index, monthDay] of QUARTER_ENDS.entries()) {
      const periodEnd = `${year}-${monthDay}` as TradingDate;
      const key = mix(mix(instrument.key, 61), epochDay(periodEnd));
      assets *= Math.exp(0.012 + 0.03 * bell(key, 0));
      const total = Math.round(assets);
      const cashBefore = cash;
      cash = cashOf(instrument, key, total);
      const spent = Math.round(total * 0.015 * uniform(key, 1));
      const earned = Math.round(total * (0.015 + 0.02 * bell(key, 2)));
      const invested = Math.round(total * 0.004 * bell(key, 3)) - spent;
      operating += earned;
      investing += invested;
      financing += cash - cashBefore - earned - invested;
      capex += spent;
      const ofQuarter = incomeOfQuarter(instrument, key, total);
      for (const name of INCOME_FLOWS) income[name] += ofQuarter[name];
      accounts.push({
        periodEnd,
        quarter: index + 1,
        balanceSheet: balanceSheetOf(instrument, key, total, cash),
        cashFlow: {
          capex,
          net_cash_change: operating + investing + financing,
          net_financing_cash_flow: financing,
          net_investing_cash_flow: investing,
          net_operating_cash_flow: operating,
        },
        income: { ...income, ...(!hasResearch(instrument) && { rd_expense: null }) },
      });
    }
  }
  return accounts;
}

/**
 * The same accounts after a correction: the receivables, and with them the revenue, have a new value, and a part of the
 * flows is moved to other items.
 */
export function restate(accounts: QuarterAccounts, key: number): QuarterAccounts {
  const { balanceSheet, cashFlow, income } = accounts;
  const size = (balanceSheet.accounts_receivable ?? 0) + 1000;
  const by = -Math.round(size * (0.05 + 0.2 * uniform(key, 0)));
  const moved = Math.round(size * (0.02 + 0.1 * uniform(key, 1)));
  return {
    ...accounts,
    balanceSheet: add(balanceSheet, {
      accounts_receivable: by,
      total_current_assets: by,
      total_assets: by,
      retained_earnings: by,
      equity_attributable: by,
      total_equity: by,
    }),
    cashFlow: add(cashFlow, { net_operating_cash_flow: -moved, net_investing_cash_flow: moved }),
    income: add(income, {
      revenue: by,
      operating_profit: by,
      total_profit: by,
      net_income: by,
      net_income_attributable: by,
      net_income_deducted: by,
    }),
  };
}

/** The year of a day since 1970-01-01. */
export function yearOf(day: number): number {
  return Number(dateOfEpochDay(day).slice(0, 4));
}

function add(fields: StatementFields, changes: Readonly<Record<string, number>>): StatementFields {
  const changed = Object.entries(changes).map(([name, by]) => [name, (fields[name] ?? 0) + by]);
  return { ...fields, ...Object.fromEntries(changed) };
}

function cashOf(instrument: SimInstrument, key: number, assets: number): number {
  return Math.round(assets * (0.05 + 0.06 * uniform(instrument.key, 62) + 0.03 * uniform(key, 4)));
}

function balanceSheetOf(
  instrument: SimInstrument,
  key: number,
  assets: number,
  cash: number,
): StatementFields {
  const habit = (n: number, low: number, high: number): number =>
    low + (high - low) * (0.8 * uniform(instrument.key, 63 + n) + 0.2 * uniform(key, 10 + n));
  const current = Math.round(assets * habit(0, 0.4, 0.7));
  const nonCurrent = assets - current;
  const liabilities = Math.round(assets * habit(1, 0.2, 0.7));
  const currentLiabilities = Math.round(liabilities * habit(2, 0.5, 0.9));
  const nonCurrentLiabilities = liabilities - currentLiabilities;
  const equity = assets - liabilities;
  const minority = Math.round(equity * habit(3, 0, 0.1));
  return {
    accounts_payable: Math.round(currentLiabilities * habit(4, 0.2, 0.5)),
    accounts_receivable: Math.round(current * habit(5, 0.1, 0.3)),
    cash_and_equivalents: cash,
    equity_attributable: equity - minority,
    fixed_assets: Math.round(nonCurrent * habit(6, 0.3, 0.6)),
    goodwill: uniform(instrument.key, 80) < 0.4 ? null : Math.round(nonCurrent * habit(7, 0.01, 0.1)),
    intangible_assets: Math.round(nonCurrent * habit(8, 0.02, 0.2)),
    inventory: uniform(instrument.key, 81) < 0.1 ? null : Math.round(current * habit(9, 0.05, 0.3)),
    long_term_borrowing: Math.round(nonCurrentLiabilities * habit(10, 0.3, 0.8)),
    minority_interest: minority,
    retained_earnings: Math.round(equity * habit(11, 0.1, 0.5)),
    short_term_borrowing: Math.round(currentLiabilities * habit(12, 0.1, 0.4)),
    total_assets: assets,
    total_current_assets: current,
    total_current_liabilities: currentLiabilities,
    total_equity: equity,
    total_liabilities: liabilities,
    total_non_current_assets: nonCurrent,
    total_non_current_liabilities: nonCurrentLiabilities,
  };
}
