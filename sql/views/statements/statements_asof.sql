-- Statements as they were known at the end of a date: for each period the newest version known by then, with ratios,
-- quarters, twelve months and changes that are computed only from known versions.
-- Grain: one row for each symbol and month of reporting. Inputs: balance_sheet_history, cash_flow_history,
-- income_history.
CREATE OR REPLACE MACRO statements_asof(as_of := NULL) AS TABLE
SELECT
  symbol,
  month,
  b.period_end AS balance_sheet_period_end,
  b.known_from AS balance_sheet_known_from,
  b.total_assets,
  b.total_liabilities,
  b.total_equity,
  b.equity_attributable,
  b.minority_interest,
  b.cash_and_equivalents,
  b.total_current_assets,
  b.total_current_liabilities,
  b.short_term_borrowing,
  b.long_term_borrowing,
  b.inventory,
  b.accounts_receivable,
  b.retained_earnings,
  b.goodwill,
  b.book_value,
  b.debt_to_assets,
  b.current_ratio,
  b.accruals,
  b.total_assets_yoy,
  b.total_assets_qoq,
  b.book_value_yoy,
  b.book_value_qoq,
  c.period_end AS cash_flow_period_end,
  c.known_from AS cash_flow_known_from,
  c.net_operating_cash_flow,
  c.net_investing_cash_flow,
  c.net_financing_cash_flow,
  c.net_cash_change,
  c.capex,
  c.free_cash_flow,
  c.operating_cash_flow_quarter,
  c.operating_cash_flow_ttm,
  c.capex_ttm,
  c.free_cash_flow_ttm,
  c.operating_cash_flow_yoy,
  c.operating_cash_flow_qoq,
  n.period_end AS income_period_end,
  n.known_from AS income_known_from,
  n.revenue,
  n.operating_cost,
  n.operating_profit,
  n.total_profit,
  n.net_income,
  n.net_income_attributable,
  n.net_income_deducted,
  n.basic_eps,
  n.diluted_eps,
  n.revenue_ttm,
  n.net_income_ttm,
  n.gross_margin,
  n.operating_margin,
  n.net_margin,
  n.revenue_yoy,
  n.net_income_yoy,
  CASE WHEN b.book_value > 0 THEN n.net_income_ttm / b.book_value END AS return_on_equity,
  region
FROM (
  SELECT *
  FROM balance_sheet_history
  WHERE known_from <= coalesce(CAST(as_of AS DATE), DATE '9999-12-31')
  QUALIFY row_number() OVER (PARTITION BY symbol, month ORDER BY known_from DESC) = 1
) AS b
FULL JOIN (
  SELECT *
  FROM cash_flow_history
  WHERE known_from <= coalesce(CAST(as_of AS DATE), DATE '9999-12-31')
  QUALIFY row_number() OVER (PARTITION BY symbol, month ORDER BY known_from DESC) = 1
) AS c USING (symbol, month, region)
FULL JOIN (
  SELECT *
  FROM income_history
  WHERE known_from <= coalesce(CAST(as_of AS DATE), DATE '9999-12-31')
  QUALIFY row_number() OVER (PARTITION BY symbol, month ORDER BY known_from DESC) = 1
) AS n USING (symbol, month, region);

COMMENT ON MACRO TABLE statements_asof IS 'Statements as they were known at the end of a date, with ratios. One row for each symbol and month of reporting.
as_of: Date; null: now. [date]
-> symbol: Instrument symbol.
-> month: Month end that the period belongs to.
-> balance_sheet_period_end: Last day of the balance sheet''s period; null where none is known.
-> balance_sheet_known_from: Date from which the balance sheet and its ratios were known in this version.
-> total_assets: Total assets, as reported. [currency]
-> total_liabilities: Total liabilities, as reported. [currency]
-> total_equity: Total equity, as reported. [currency]
-> equity_attributable: Equity attributable, as reported. [currency]
-> minority_interest: Minority interest, as reported. [currency]
-> cash_and_equivalents: Cash and equivalents, as reported. [currency]
-> total_current_assets: Total current assets, as reported. [currency]
-> total_current_liabilities: Total current liabilities, as reported. [currency]
-> short_term_borrowing: Short term borrowing, as reported. [currency]
-> long_term_borrowing: Long term borrowing, as reported. [currency]
-> inventory: Inventory, as reported. [currency]
-> accounts_receivable: Accounts receivable, as reported. [currency]
-> retained_earnings: Retained earnings, as reported. [currency]
-> goodwill: Goodwill, as reported. [currency]
-> book_value: equity_attributable; where it is not reported, total_equity - minority_interest. [currency]
-> debt_to_assets: total_liabilities / total_assets. [ratio]
-> current_ratio: total_current_assets / total_current_liabilities. [ratio]
-> accruals: Change over a year of (total_current_assets - cash_and_equivalents) - (total_current_liabilities - short_term_borrowing), over the average of total_assets at its two ends. [ratio]
-> total_assets_yoy: total_assets against the period a year before: (x - x0) / abs(x0). [ratio]
-> total_assets_qoq: total_assets against the period a quarter before: (x - x0) / abs(x0). [ratio]
-> book_value_yoy: book_value against the period a year before: (x - x0) / abs(x0). [ratio]
-> book_value_qoq: book_value against the period a quarter before: (x - x0) / abs(x0). [ratio]
-> cash_flow_period_end: Last day of the cash flow statement''s period; null where none is known.
-> cash_flow_known_from: Date from which the cash flow statement and what follows from it were known in this version.
-> net_operating_cash_flow: Net operating cash flow, as reported: from the start of the year. [currency]
-> net_investing_cash_flow: Net investing cash flow, as reported: from the start of the year. [currency]
-> net_financing_cash_flow: Net financing cash flow, as reported: from the start of the year. [currency]
-> net_cash_change: Net cash change, as reported: from the start of the year. [currency]
-> capex: Capex, as reported: from the start of the year. [currency]
-> free_cash_flow: net_operating_cash_flow - abs(capex), from the start of the year: sources differ in the sign of capex. [currency]
-> operating_cash_flow_quarter: net_operating_cash_flow of the quarter alone: the report less that of the quarter before; of the first quarter, the report. [currency]
-> operating_cash_flow_ttm: net_operating_cash_flow of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. [currency]
-> capex_ttm: abs(capex) of the last twelve months, likewise. [currency]
-> free_cash_flow_ttm: operating_cash_flow_ttm - capex_ttm. [currency]
-> operating_cash_flow_yoy: net_operating_cash_flow from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]
-> operating_cash_flow_qoq: operating_cash_flow_quarter against the quarter before: (x - x0) / abs(x0). [ratio]
-> income_period_end: Last day of the income statement''s period; null where none is known.
-> income_known_from: Date from which the income statement and what follows from it were known in this version.
-> revenue: Revenue, as reported: from the start of the year. [currency]
-> operating_cost: Operating cost, as reported: from the start of the year. [currency]
-> operating_profit: Operating profit, as reported: from the start of the year. [currency]
-> total_profit: Total profit, as reported: from the start of the year. [currency]
-> net_income: Net income, as reported: from the start of the year. [currency]
-> net_income_attributable: Net income attributable, as reported: from the start of the year. [currency]
-> net_income_deducted: Net income deducted, as reported: from the start of the year. [currency]
-> basic_eps: Basic eps, as reported: from the start of the year. [currency a share]
-> diluted_eps: Diluted eps, as reported: from the start of the year. [currency a share]
-> revenue_ttm: revenue of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. Null where a piece, or the fiscal quarter, is not known. [currency]
-> net_income_ttm: net_income_attributable of the last twelve months, likewise. [currency]
-> gross_margin: (revenue - operating_cost) / revenue, from the start of the year. [ratio]
-> operating_margin: operating_profit / revenue, from the start of the year. [ratio]
-> net_margin: net_income / revenue, from the start of the year. [ratio]
-> revenue_yoy: revenue from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]
-> net_income_yoy: net_income_attributable, likewise. [ratio]
-> return_on_equity: net_income_ttm / book_value; null where the book value is not above 0. [ratio]
-> region: Region: CN, HK or US.';
