import { expect, test } from "vitest";
import { type ItemKind, itemKind } from "../../../../src/jobs/import/rows/statements.js";

const KINDS: Readonly<Record<ItemKind, string>> = {
  flow: `revenue net_operating_cash_flow totalRevenue costOfRevenue grossProfit researchAndDevelopmentExpenses ebitda
    incomeTaxExpense income_from_operations netCashProvidedByOperatingActivities netChangeInCash changeInInventory
    purchasesOfInvestments dividendsPaid commonStockRepurchased depreciationAndAmortization freeCashFlow turnover
    repurchase_of_shares oper_cost sell_exp`,
  balance: `total_assets inventory cashAtEndOfPeriod c_cash_equ_beg_period accountsReceivables retained_earnings
    treasury_shares otherNonCashItems`,
  count: "total_shares float_shares weightedAverageShsOut weightedAverageShsOutDil shares_outstanding",
  other: `basic_eps roe grossProfitRatio netIncomeRatio ebitdaratio epsdiluted EPSDiluted revenuePerShare calendarYear
    fiscalYear year gross_margin inventory_turnover roe_pct revenue_yoy dps report_type update_flag`,
};

test.each(Object.entries(KINDS).flatMap(([kind, names]) => names.split(/\s+/).map((name) => [name, kind])))(
  "%s is a %s",
  (name, kind) => {
    expect(itemKind(name)).toBe(kind);
  },
);
