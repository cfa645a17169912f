-- Balance sheets as they were known from each date on, with ratios and changes that use only versions known by then. A
-- version changes the rows of its period, and those of the periods a quarter and a year later, which are compared with
-- it.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.balance_sheet,
-- known_versions.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW balance_sheet_history AS
WITH versions AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS month, struct_pack(
    period_end := period_end,
    announce_date := announce_date,
    total_assets := total_assets,
    total_liabilities := total_liabilities,
    total_equity := total_equity,
    equity_attributable := equity_attributable,
    minority_interest := minority_interest,
    cash_and_equivalents := cash_and_equivalents,
    total_current_assets := total_current_assets,
    total_current_liabilities := total_current_liabilities,
    short_term_borrowing := short_term_borrowing,
    long_term_borrowing := long_term_borrowing,
    inventory := inventory,
    accounts_receivable := accounts_receivable,
    retained_earnings := retained_earnings,
    goodwill := goodwill
  ) AS item
  FROM known_versions('raw.balance_sheet')
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it.
parts AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from, item, part.role AS role,
    last_day(month + to_months(part.months)) AS month
  FROM (
    SELECT *, unnest([{'role': 0, 'months': 0}, {'role': 3, 'months': 3}, {'role': 12, 'months': 12}]) AS part
    FROM versions
  )
),
states AS NOT MATERIALIZED (
  SELECT symbol, region, month, known_from,
    last_value(CASE WHEN role = 0 THEN item END IGNORE NULLS) OVER states AS this,
    last_value(CASE WHEN role = 3 THEN item END IGNORE NULLS) OVER states AS quarter_ago,
    last_value(CASE WHEN role = 12 THEN item END IGNORE NULLS) OVER states AS year_ago
  FROM parts
  WINDOW states AS (
    PARTITION BY symbol, month ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
  QUALIFY lead(known_from) OVER states IS DISTINCT FROM known_from
)
SELECT
  symbol,
  month,
  known_from,
  this.period_end AS period_end,
  this.announce_date AS announce_date,
  this.total_assets AS total_assets,
  this.total_liabilities AS total_liabilities,
  this.total_equity AS total_equity,
  this.equity_attributable AS equity_attributable,
  this.minority_interest AS minority_interest,
  this.cash_and_equivalents AS cash_and_equivalents,
  this.total_current_assets AS total_current_assets,
  this.total_current_liabilities AS total_current_liabilities,
  this.short_term_borrowing AS short_term_borrowing,
  this.long_term_borrowing AS long_term_borrowing,
  this.inventory AS inventory,
  this.accounts_receivable AS accounts_receivable,
  this.retained_earnings AS retained_earnings,
  this.goodwill AS goodwill,
  coalesce(this.equity_attributable, this.total_equity - coalesce(this.minority_interest, 0)) AS book_value,
  CASE WHEN this.total_assets > 0 THEN this.total_liabilities / this.total_assets END AS debt_to_assets,
  CASE WHEN this.total_current_liabilities > 0 THEN this.total_current_assets / this.total_current_liabilities END AS current_ratio,
  CASE WHEN this.total_assets + year_ago.total_assets > 0 THEN
    ((this.total_current_assets - this.cash_and_equivalents - (this.total_current_liabilities - this.short_term_borrowing))
      - (year_ago.total_current_assets - year_ago.cash_and_equivalents - (year_ago.total_current_liabilities - year_ago.short_term_borrowing)))
    / ((this.total_assets + year_ago.total_assets) / 2) END AS accruals,
  relative_change(this.total_assets, year_ago.total_assets) AS total_assets_yoy,
  relative_change(this.total_assets, quarter_ago.total_assets) AS total_assets_qoq,
  relative_change(
    coalesce(this.equity_attributable, this.total_equity - coalesce(this.minority_interest, 0)),
    coalesce(year_ago.equity_attributable, year_ago.total_equity - coalesce(year_ago.minority_interest, 0))
  ) AS book_value_yoy,
  relative_change(
    coalesce(this.equity_attributable, this.total_equity - coalesce(this.minority_interest, 0)),
    coalesce(quarter_ago.equity_attributable, quarter_ago.total_equity - coalesce(quarter_ago.minority_interest, 0))
  ) AS book_value_qoq,
  region
FROM states
WHERE this IS NOT NULL;

COMMENT ON VIEW balance_sheet_history IS 'Balance sheets as they were known from each date on, with ratios. One row for each symbol, period and date on which something of it became known. A version counts as known_versions says.';
COMMENT ON COLUMN balance_sheet_history.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN balance_sheet_history.month IS 'Month end that the period belongs to: what periods of different years are compared by.';
COMMENT ON COLUMN balance_sheet_history.known_from IS 'First date on which the row was known: one of its statements counts from then on. It is valid until the next row of the period.';
COMMENT ON COLUMN balance_sheet_history.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN balance_sheet_history.announce_date IS 'Date of publication of the period''s own version; null where the source does not state it.';
COMMENT ON COLUMN balance_sheet_history.total_assets IS 'Total assets, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.total_liabilities IS 'Total liabilities, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.total_equity IS 'Total equity, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.equity_attributable IS 'Equity attributable, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.minority_interest IS 'Minority interest, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.cash_and_equivalents IS 'Cash and equivalents, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.total_current_assets IS 'Total current assets, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.total_current_liabilities IS 'Total current liabilities, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.short_term_borrowing IS 'Short term borrowing, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.long_term_borrowing IS 'Long term borrowing, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.inventory IS 'Inventory, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.accounts_receivable IS 'Accounts receivable, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.retained_earnings IS 'Retained earnings, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.goodwill IS 'Goodwill, as reported. [currency]';
COMMENT ON COLUMN balance_sheet_history.book_value IS 'equity_attributable; where it is not reported, total_equity - minority_interest. [currency]';
COMMENT ON COLUMN balance_sheet_history.debt_to_assets IS 'total_liabilities / total_assets. [ratio]';
COMMENT ON COLUMN balance_sheet_history.current_ratio IS 'total_current_assets / total_current_liabilities. [ratio]';
COMMENT ON COLUMN balance_sheet_history.accruals IS 'Change over a year of (total_current_assets - cash_and_equivalents) - (total_current_liabilities - short_term_borrowing), over the average of total_assets at its two ends. [ratio]';
COMMENT ON COLUMN balance_sheet_history.total_assets_yoy IS 'total_assets against the period a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN balance_sheet_history.total_assets_qoq IS 'total_assets against the period a quarter before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN balance_sheet_history.book_value_yoy IS 'book_value against the period a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN balance_sheet_history.book_value_qoq IS 'book_value against the period a quarter before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN balance_sheet_history.region IS 'Region: CN, HK or US.';
