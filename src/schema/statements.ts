import { type Column, column, nullable, type TableSchema } from "./column.js";

const BALANCE_SHEET_FIELDS = [
  "accounts_payable",
  "accounts_receivable",
  "cash_and_equivalents",
  "equity_attributable",
  "fixed_assets",
  "goodwill",
  "intangible_assets",
  "inventory",
  "long_term_borrowing",
  "minority_interest",
  "retained_earnings",
  "short_term_borrowing",
  "total_assets",
  "total_current_assets",
  "total_current_liabilities",
  "total_equity",
  "total_liabilities",
  "total_non_current_assets",
  "total_non_current_liabilities",
].map((name) => reported(name, "currency"));

const CASH_FLOW_FIELDS = [
  "capex",
  "net_cash_change",
  "net_financing_cash_flow",
  "net_investing_cash_flow",
  "net_operating_cash_flow",
].map((name) => reported(name, "currency"));

/** Items of an income statement that are not per share. */
export const INCOME_FLOWS = [
  "admin_expense",
  "financial_expense",
  "income_tax",
  "net_income",
  "net_income_attributable",
  "net_income_deducted",
  "non_operating_expense",
  "non_operating_income",
  "operating_cost",
  "operating_profit",
  "rd_expense",
  "revenue",
  "selling_expense",
  "total_profit",
] as const;

const INCOME_FIELDS = [
  ...INCOME_FLOWS.map((name) => reported(name, "currency")),
  ...["basic_eps", "diluted_eps"].map((name) => reported(name, "currency a share")),
];

const METRICS_FIELDS = [
  ...["bps", "eps_basic", "eps_diluted", "ocfps"].map((name) => reported(name, "currency a share")),
  ...[
    "debt_to_asset_ratio",
    "gross_margin",
    "inventory_turnover",
    "net_income_yoy",
    "net_margin",
    "operating_cash_to_revenue",
    "revenue_yoy",
    "roa",
    "roe",
    "roe_diluted",
  ].map((name) => reported(name, "as delivered")),
];

const SHARES_FIELDS: readonly Column[] = [
  nullable(
    "derived_from",
    "string",
    "instruments: a service derived the row from snapshots of the instrument's metadata; null: it is reported.",
  ),
  nullable("float_shares", "double", "Shares that trade freely.", "shares"),
  nullable("total_shares", "double", "Shares issued.", "shares"),
];

/** A number of a statement as the company, or the service, states it. */
function reported(name: string, unit: string): Column {
  const title = name.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());
  return { name, type: "double", nullable: true, unit, doc: `${title}, as reported.` };
}

function statement(name: string, title: string, fields: readonly Column[]): TableSchema {
  return {
    name,
    doc: `${title}: one row for each version of a statement that was ever seen. Key: symbol, period_end, announce_date, first_seen_at.`,
    columns: [
      column("symbol", "string", "Instrument symbol."),
      column("period_end", "date", "Last day of the reporting period."),
      nullable("announce_date", "date", "Date of publication, where the source states it."),
      column("first_seen_at", "timestamp", "When this version was first seen by this lake.", "UTC"),
      ...fields,
      column("region", "string", "Region: CN, HK or US."),
    ],
    key: ["symbol", "period_end", "announce_date", "first_seen_at"],
    sort: ["symbol", "period_end", "announce_date", "first_seen_at"],
    partition: ["region"],
    stats: ["symbol", "period_end", "first_seen_at"],
    known: { by: "statements" },
    open: true,
  };
}

export const BALANCE_SHEET = statement("balance_sheet", "Balance sheets", BALANCE_SHEET_FIELDS);
export const CASH_FLOW = statement("cash_flow", "Cash flow statements", CASH_FLOW_FIELDS);
export const INCOME = statement("income", "Income statements", INCOME_FIELDS);
export const METRICS = statement("metrics", "Key figures of reporting periods", METRICS_FIELDS);
export const SHARES = statement("shares", "Numbers of shares", SHARES_FIELDS);

/** Names of the tables of statements, in the order in which they are requested. */
export const STATEMENT_NAMES = ["balance_sheet", "cash_flow", "income", "metrics", "shares"] as const;
export type StatementName = (typeof STATEMENT_NAMES)[number];

export const STATEMENTS: Readonly<Record<StatementName, TableSchema>> = {
  balance_sheet: BALANCE_SHEET,
  cash_flow: CASH_FLOW,
  income: INCOME,
  metrics: METRICS,
  shares: SHARES,
};

/** The columns of a table of statements that are not its fields: the lake or the record's place fills them. */
const OWN = new Set(["symbol", "period_end", "announce_date", "first_seen_at", "region"]);

/** The declared fields of a table of statements, in the order of its columns. */
export function statementFieldsOf({ columns }: Pick<TableSchema, "columns">): readonly Column[] {
  return columns.filter(({ name }) => !OWN.has(name));
}

export function isStatementName(name: string): name is StatementName {
  return (STATEMENT_NAMES as readonly string[]).includes(name);
}
