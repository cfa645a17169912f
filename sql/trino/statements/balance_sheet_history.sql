-- Balance sheets as they were known from each date on, with ratios and changes that use only versions known by then.
-- See sql/views/statements/balance_sheet_history.sql.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.balance_sheet.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW balance_sheet_history AS
WITH versions AS (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS "month", CAST(ROW(
      period_end, announce_date, total_assets, total_liabilities, total_equity, equity_attributable,
      minority_interest, cash_and_equivalents, total_current_assets, total_current_liabilities,
      short_term_borrowing, long_term_borrowing, inventory, accounts_receivable, retained_earnings, goodwill
    ) AS ROW(
      period_end DATE, announce_date DATE, total_assets DOUBLE, total_liabilities DOUBLE, total_equity DOUBLE,
      equity_attributable DOUBLE, minority_interest DOUBLE, cash_and_equivalents DOUBLE, total_current_assets
      DOUBLE, total_current_liabilities DOUBLE, short_term_borrowing DOUBLE, long_term_borrowing DOUBLE, inventory
      DOUBLE, accounts_receivable DOUBLE, retained_earnings DOUBLE, goodwill DOUBLE
    )) AS item
  FROM known_versions(raw.balance_sheet)
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it.
parts AS (
  SELECT v.symbol, v.region, v.first_seen_at, v.known_from, v.item, part.role,
    last_day_of_month(date_add('month', part.months, v."month")) AS "month"
  FROM versions AS v
  CROSS JOIN (VALUES (0, 0), (3, 3), (12, 12)) AS part (role, months)
),
states AS (
  SELECT symbol, region, "month", known_from,
    last_value(CASE WHEN role = 0 THEN item END) IGNORE NULLS OVER states AS this,
    last_value(CASE WHEN role = 3 THEN item END) IGNORE NULLS OVER states AS quarter_ago,
    last_value(CASE WHEN role = 12 THEN item END) IGNORE NULLS OVER states AS year_ago,
    lead(known_from) OVER
      (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end) AS next_known_from
  FROM parts
  WINDOW states AS
    (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
)
SELECT
  symbol,
  "month",
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
WHERE next_known_from IS DISTINCT FROM known_from AND this IS NOT NULL;

COMMENT ON VIEW balance_sheet_history IS 'Balance sheets as they were known from each date on, with ratios and changes. One row for each symbol, period and date on which something of it became known.';
