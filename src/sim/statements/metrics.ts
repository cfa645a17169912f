import type { QuarterAccounts, StatementFields } from "./accounts.js";

/** The accounts from which the metrics of a period are computed. */
export interface MetricsParts {
  readonly accounts: QuarterAccounts;
  /**
   * The same quarter of the previous year, and the end of the previous fiscal year; undefined where they do not exist.
   */
  readonly yearAgo: QuarterAccounts | undefined;
  readonly yearEnd: QuarterAccounts | undefined;
  /** Shares issued on the last day of the period. */
  readonly shares: number;
}

/** The metrics of a period. Flows are from the start of the year, and ratios are fractions. */
export function metricsOf({ accounts, yearAgo, yearEnd, shares }: MetricsParts): StatementFields {
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
export function perShare(amount: Item, shares: number): number | null {
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
