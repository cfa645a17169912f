import type { Column, TableSchema } from "./column.js";

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
] as const;

const CASH_FLOW_FIELDS = [
  "capex",
  "net_cash_change",
  "net_financing_cash_flow",
  "net_investing_cash_flow",
  "net_operating_cash_flow",
] as const;

function statement(name: string, title: string, fields: readonly string[]): TableSchema {
  const items = fields.map(
    (field): Column => ({
      name: field,
      type: "double",
      nullable: true,
      unit: "currency",
      doc: `${field.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase())}, as reported.`,
    }),
  );
  return {
    name,
    doc: `${title}: one row for each version of a statement that was ever seen. Key: symbol, period_end, announce_date, first_seen_at.`,
    columns: [
      { name: "symbol", type: "string", doc: "Instrument symbol." },
      { name: "period_end", type: "date", doc: "Last day of the reporting period." },
      {
        name: "announce_date",
        type: "date",
        nullable: true,
        doc: "Date of publication, where the source states it.",
      },
      {
        name: "first_seen_at",
        type: "timestamp",
        unit: "UTC",
        doc: "When this version was first seen by this lake.",
      },
      ...items,
      { name: "region", type: "string", doc: "Region: CN, HK or US." },
    ],
    key: ["symbol", "period_end", "announce_date", "first_seen_at"],
    sort: ["symbol", "period_end", "announce_date", "first_seen_at"],
    partition: ["region"],
    stats: ["symbol", "period_end", "first_seen_at"],
    open: true,
  };
}

export const BALANCE_SHEET = statement("balance_sheet", "Balance sheets", BALANCE_SHEET_FIELDS);
export const CASH_FLOW = statement("cash_flow", "Cash flow statements", CASH_FLOW_FIELDS);
