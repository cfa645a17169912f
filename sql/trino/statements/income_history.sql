-- Income statements as they were known from each date on, with twelve months, margins and growth that use only versions
-- known by then. See sql/views/statements/income_history.sql for which flows are cumulated.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.income.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW income_history AS
WITH versions AS (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS "month", CAST(ROW(
      period_end, announce_date, revenue, operating_cost, operating_profit, total_profit, net_income,
      net_income_attributable, net_income_deducted, basic_eps, diluted_eps
    ) AS ROW(
      period_end DATE, announce_date DATE, revenue DOUBLE, operating_cost DOUBLE, operating_profit DOUBLE,
      total_profit DOUBLE, net_income DOUBLE, net_income_attributable DOUBLE, net_income_deducted DOUBLE,
      basic_eps DOUBLE, diluted_eps DOUBLE
    )) AS item
  FROM known_versions(raw.income)
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it.
parts AS (
  SELECT v.symbol, v.region, v.first_seen_at, v.known_from, v.item, part.role,
    last_day_of_month(date_add('month', part.months, v."month")) AS "month"
  FROM versions AS v
  CROSS JOIN (VALUES (0, 0), (3, 3), (6, 6), (9, 9), (12, 12)) AS part (role, months)
),
states AS (
  SELECT symbol, region, "month", known_from,
    last_value(CASE WHEN role = 0 THEN item END) IGNORE NULLS OVER states AS this,
    last_value(CASE WHEN role = 3 THEN item END) IGNORE NULLS OVER states AS quarter_ago,
    last_value(CASE WHEN role = 6 THEN item END) IGNORE NULLS OVER states AS half_ago,
    last_value(CASE WHEN role = 9 THEN item END) IGNORE NULLS OVER states AS three_quarters_ago,
    last_value(CASE WHEN role = 12 THEN item END) IGNORE NULLS OVER states AS year_ago,
    lead(known_from) OVER
      (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end) AS next_known_from
  FROM parts
  WINDOW states AS
    (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
),
judged AS (
  SELECT *, fiscal_quarter(region, "month", this.revenue, quarter_ago.revenue, half_ago.revenue, three_quarters_ago.revenue, year_ago.revenue) AS fiscal_quarter
  FROM states
  WHERE next_known_from IS DISTINCT FROM known_from AND this IS NOT NULL
)
SELECT
  symbol,
  "month",
  known_from,
  this.period_end AS period_end,
  this.announce_date AS announce_date,
  this.revenue AS revenue,
  this.operating_cost AS operating_cost,
  this.operating_profit AS operating_profit,
  this.total_profit AS total_profit,
  this.net_income AS net_income,
  this.net_income_attributable AS net_income_attributable,
  this.net_income_deducted AS net_income_deducted,
  this.basic_eps AS basic_eps,
  this.diluted_eps AS diluted_eps,
  fiscal_quarter,
  coalesce(fiscal_quarter * 3 = month("month"), false) AS is_calendar_year,
  twelve_months(fiscal_quarter, this.revenue, quarter_ago.revenue, half_ago.revenue, three_quarters_ago.revenue, year_ago.revenue) AS revenue_ttm,
  twelve_months(fiscal_quarter, this.net_income_attributable, quarter_ago.net_income_attributable, half_ago.net_income_attributable, three_quarters_ago.net_income_attributable, year_ago.net_income_attributable) AS net_income_ttm,
  CASE WHEN this.revenue > 0 THEN (this.revenue - this.operating_cost) / this.revenue END AS gross_margin,
  CASE WHEN this.revenue > 0 THEN this.operating_profit / this.revenue END AS operating_margin,
  CASE WHEN this.revenue > 0 THEN this.net_income / this.revenue END AS net_margin,
  relative_change(this.revenue, year_ago.revenue) AS revenue_yoy,
  relative_change(this.net_income_attributable, year_ago.net_income_attributable) AS net_income_yoy,
  region
FROM judged;

COMMENT ON VIEW income_history IS 'Income statements as they were known from each date on, with twelve months, margins and growth. One row for each symbol, period and date on which something of it became known.';
