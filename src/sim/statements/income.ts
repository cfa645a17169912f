import type { INCOME_FLOWS } from "../../schema/statements.js";
import type { SimInstrument } from "../instrument.js";
import { bell, mix, uniform } from "../random.js";

/** Flows of an income statement in whole units of currency, without values per share. */
export type IncomeFlow = (typeof INCOME_FLOWS)[number];

/**
 * The income of one quarter alone. Operating profit is revenue minus cost and expenses; total profit adds the items
 * that are not operating; net income is total profit minus tax, and a part of it belongs to minorities. Few quarters
 * have a loss.
 *
 * @param quarterKey seed of the quarter.
 * @param assets total assets at its end.
 */
export function incomeOfQuarter(
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

/** Whether a company reports expenses for research. */
export function hasResearch({ key }: SimInstrument): boolean {
  return uniform(mix(key, 91), 0) < 0.7;
}
