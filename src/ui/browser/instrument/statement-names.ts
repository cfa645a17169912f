import { isChinese } from "../texts.js";

/** The columns of the table of statements in Chinese. */
const CHINESE: Readonly<Record<string, string>> = {
  period_end: "报告期",
  known_from: "获知日",
  revenue: "营业收入",
  net_income_attributable: "归母净利润",
  gross_margin: "毛利率",
  net_operating_cash_flow: "经营现金流净额",
  free_cash_flow: "自由现金流",
  total_assets: "总资产",
  total_liabilities: "总负债",
  book_value: "净资产",
  debt_to_assets: "资产负债率",
};

/** The name of a column of statements, in the language of the browser. */
export function statementName(column: string): string {
  return (isChinese ? CHINESE[column] : undefined) ?? column.replaceAll("_", " ");
}
