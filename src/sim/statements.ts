import { dateOfEpochDay, epochDay, type TradingDate } from "../core/time.js";
import { INCOME_FLOWS, type StatementName } from "../schema/statements.js";
import type { StatementRecord } from "../wire/resources.js";
import type { SimInstrument } from "./instrument.js";
import { instrumentsOf, isListed, type MarketState } from "./market-state.js";
import { bell, integer, mix, uniform } from "./random.js";
import { sharesOf } from "./universe.js";

/** Flows of an income statement in whole units of currency, without values per share. */
type IncomeFlow = (typeof INCOME_FLOWS)[number];

/**
 * The income of one quarter alone. Operating profit is revenue minus cost and expenses; total profit adds the items
 * that are not operating; net income is total profit minus tax, and a part of it belongs to minorities. Few quarters
 * have a loss. @param assets total assets at the quarter's end.
 */
function incomeOfQuarter(
  instrument: SimInstrument,
  quarterKey: number,
  assets: number,
): Record<IncomeFlow, number> {
  const [own, key] = [mix(instrument.key, 90), mix(quarterKey, 90)];
  const habit = (n: number, low: number, high: number): number =>
    low + (high - low) * (0.8 * uniform(own, n) + 0.2 * uniform(key, n));
  const revenue = Math.round(assets * habit(0, 0.06, 0.25) * (1 + 0.1 * bell(key, 30)));
  const part = (n: number, low: number, high: number): number => Math.round(revenue * habit(n, low, high));
  const operating_cost = part(1, 0.5, 0.75);
  const selling_expense = part(2, 0.02, 0.08);
  const admin_expense = part(3, 0.02, 0.07);
  const rd_expense = hasResearch(instrument) ? part(4, 0.01, 0.06) : 0;
  const financial_expense = part(5, -0.01, 0.02);
  const non_operating_income = part(6, 0, 0.01);
  const non_operating_expense = part(7, 0, 0.01);
  const operating_profit =
    revenue - operating_cost - selling_expense - admin_expense - rd_expense - financial_expense;
  const total_profit = operating_profit + non_operating_income - non_operating_expense;
  const income_tax = Math.max(0, Math.round(total_profit * 0.2));
  const net_income = total_profit - income_tax;
  const net_income_attributable = net_income - Math.round(net_income * habit(8, 0, 0.08));
  return {
    admin_expense,
    financial_expense,
    income_tax,
    net_income,
    net_income_attributable,
    net_income_deducted: net_income_attributable - non_operating_income + non_operating_expense,
    non_operating_expense,
    non_operating_income,
    operating_cost,
    operating_profit,
    rd_expense,
    revenue,
    selling_expense,
    total_profit,
  };
}

function hasResearch({ key }: SimInstrument): boolean {
  return uniform(mix(key, 91), 0) < 0.7;
}

/** By field name, in whole units of currency; null where a company reports none. */
type StatementFields = Readonly<Record<string, number | null>>;

interface QuarterAccounts {
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
function companyAccounts(instrument: SimInstrument, from: number, to: number): QuarterAccounts[] {
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
 * After a correction: the receivables, and with them the revenue, have a new value, and a part of the flows is moved.
 */
function restate(accounts: QuarterAccounts, key: number): QuarterAccounts {
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

function yearOf(day: number): number {
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

interface MetricsParts {
  readonly accounts: QuarterAccounts;
  /** The same quarter of the previous year, and the end of the previous fiscal year. */
  readonly yearAgo: QuarterAccounts | undefined;
  readonly yearEnd: QuarterAccounts | undefined;
  /** Shares issued on the last day of the period. */
  readonly shares: number;
}

/** The metrics of a period. Flows are from the start of the year, and ratios are fractions. */
function metricsOf({ accounts, yearAgo, yearEnd, shares }: MetricsParts): StatementFields {
  const { balanceSheet, cashFlow, income } = accounts;
  const equity = balanceSheet.equity_attributable as number;
  const before = yearEnd?.balanceSheet.equity_attributable;
  const eps = perShare(income.net_income_attributable, shares);
  return {
    bps: perShare(equity, shares),
    debt_to_asset_ratio: ratio(balanceSheet.total_liabilities, balanceSheet.total_assets),
    eps_basic: eps,
    eps_diluted: eps,
    gross_margin: ratio((income.revenue as number) - (income.operating_cost as number), income.revenue),
    inventory_turnover: ratio(income.operating_cost, balanceSheet.inventory),
    net_income_yoy: change(income.net_income_attributable, yearAgo?.income.net_income_attributable),
    net_margin: ratio(income.net_income, income.revenue),
    ocfps: perShare(cashFlow.net_operating_cash_flow, shares),
    operating_cash_to_revenue: ratio(cashFlow.net_operating_cash_flow, income.revenue),
    revenue_yoy: change(income.revenue, yearAgo?.income.revenue),
    roa: ratio(income.net_income, balanceSheet.total_assets),
    roe: typeof before === "number" ? ratio(income.net_income_attributable, (equity + before) / 2) : null,
    roe_diluted: ratio(income.net_income_attributable, equity),
  };
}

type Item = number | null | undefined;

/** An amount per share, rounded to a ten-thousandth of the currency. */
function perShare(amount: Item, shares: number): number | null {
  return typeof amount === "number" ? Math.round((amount / shares) * 1e4) / 1e4 : null;
}

function ratio(part: Item, whole: Item): number | null {
  if (typeof part !== "number" || typeof whole !== "number" || whole === 0) return null;
  return Math.round((part / whole) * 1e6) / 1e6;
}

function change(now: Item, before: Item): number | null {
  if (typeof now !== "number" || typeof before !== "number") return null;
  return ratio(now - before, Math.abs(before));
}

export type StatementKind = StatementName;

export interface StatementVersion {
  readonly symbol: string;
  readonly record: StatementRecord;
  readonly firstSeen: TradingDate;
}

/** Number of days before the history; quarters that end within them are known at its start. */
const LEAD_DAYS = 550;
/** Fewest and most days from the end of a period to its announcement. */
const ANNOUNCE_DAYS = [20, 100] as const;
/** Fraction of the statements for which the service has no announce_date. */
const NULL_ANNOUNCE = 0.06;
/** Fraction of the statements that are corrected later. */
const RESTATED = 0.06;

/** Every version of the statements of some symbols, ordered by symbol, then period end, then first seen. */
export function listVersions(
  state: MarketState,
  kind: StatementKind,
  symbols: readonly string[],
): StatementVersion[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => versionsOf(state, kind, instrument));
}

/** The response of the service on a date: by symbol, the newest version of each period, ascending by period end. */
export function latestVersions(
  state: MarketState,
  kind: StatementKind,
  symbols: readonly string[],
  knownBy: TradingDate,
): Map<string, StatementRecord[]> {
  const bySymbol = new Map<string, StatementRecord[]>();
  for (const { symbol, record, firstSeen } of listVersions(state, kind, symbols)) {
    if (firstSeen > knownBy) continue;
    const records = bySymbol.get(symbol) ?? [];
    if (records.at(-1)?.period_end === record.period_end) records.pop();
    records.push(record);
    bySymbol.set(symbol, records);
  }
  return bySymbol;
}

function versionsOf(state: MarketState, kind: StatementKind, instrument: SimInstrument): StatementVersion[] {
  if (instrument.type !== "stock") return [];
  const historyStart = state.calendars[instrument.region].epochDays[0] as number;
  const last = epochDay(state.spec.end);
  const years = [yearOf(historyStart - LEAD_DAYS), yearOf(last)] as const;
  const versions: StatementVersion[] = [];
  const all = companyAccounts(instrument, ...years);
  for (const [index, accounts] of all.entries()) {
    if (instrument.region === "HK" && accounts.quarter % 2 === 1) continue;
    const before = { yearAgo: all[index - 4], yearEnd: all[index - accounts.quarter] };
    const fieldsOf = (one: QuarterAccounts) =>
      fieldsOfKind(state, kind, instrument, { accounts: one, ...before });
    for (const version of announce(instrument, accounts, fieldsOf, kind !== "shares")) {
      if (version.firstSeen <= state.spec.end && isListed(instrument, version.firstSeen))
        versions.push(version);
    }
  }
  return versions;
}

/** The first version of a statement, and for a few statements a version that later replaces it. */
function announce(
  { key: instrumentKey, symbol }: SimInstrument,
  accounts: QuarterAccounts,
  fieldsOf: (accounts: QuarterAccounts) => StatementFields,
  isCorrectable: boolean,
): StatementVersion[] {
  const end = epochDay(accounts.periodEnd);
  const key = mix(mix(instrumentKey, 70), end);
  const [least, most] = ANNOUNCE_DAYS;
  const day = end + least + integer(key, 0, most - least + 1);
  const isAnnounced = uniform(key, 1) >= NULL_ANNOUNCE;
  const versionOf = (one: QuarterAccounts, firstDay: number, announced: boolean): StatementVersion => {
    const firstSeen = dateOfEpochDay(firstDay);
    const dates = { period_end: accounts.periodEnd, announce_date: announced ? firstSeen : null };
    return { symbol, record: { ...dates, ...fieldsOf(one) }, firstSeen };
  };
  const first = versionOf(accounts, day, isAnnounced);
  if (!isCorrectable || uniform(key, 2) >= RESTATED) return [first];
  return [first, versionOf(restate(accounts, key), day + 30 + integer(key, 3, 250), true)];
}

function fieldsOfKind(
  state: MarketState,
  kind: StatementKind,
  instrument: SimInstrument,
  parts: Omit<MetricsParts, "shares">,
): StatementFields {
  const { balanceSheet, cashFlow, income, periodEnd } = parts.accounts;
  if (kind === "balance_sheet") return balanceSheet;
  if (kind === "cash_flow") return cashFlow;
  const shares = sharesOf(state, instrument, periodEnd);
  if (kind === "shares") return shares;
  if (kind === "metrics") return metricsOf({ ...parts, shares: shares.total_shares });
  const eps = perShare(income.net_income_attributable, shares.total_shares);
  return { ...income, basic_eps: eps, diluted_eps: eps };
}
