-- Cash flow statements as they were known from each date on, with quarters, twelve months and changes that use only
-- versions known by then. See sql/views/statements/cash_flow_history.sql for which flows are cumulated.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.cash_flow.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW cash_flow_history AS
WITH versions AS (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS "month", CAST(ROW(
      period_end, announce_date, net_operating_cash_flow, net_investing_cash_flow, net_financing_cash_flow,
      net_cash_change, capex
    ) AS ROW(
      period_end DATE, announce_date DATE, net_operating_cash_flow DOUBLE, net_investing_cash_flow DOUBLE,
      net_financing_cash_flow DOUBLE, net_cash_change DOUBLE, capex DOUBLE
    )) AS item
  FROM known_versions(raw.cash_flow)
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it; and, as -1, the fiscal quarter that the revenues show (0: none).
parts AS (
  SELECT v.symbol, v.region, v.first_seen_at, v.known_from, v.item, part.role,
    last_day_of_month(date_add('month', part.months, v."month")) AS "month", CAST(NULL AS INTEGER) AS shown
  FROM versions AS v
  CROSS JOIN (VALUES (0, 0), (3, 3), (6, 6), (9, 9), (12, 12)) AS part (role, months)
  UNION ALL
  SELECT symbol, region, TIMESTAMP '1970-01-01 00:00:00 UTC', known_from, NULL, -1, "month",
    coalesce(fiscal_quarter, 0)
  FROM income_history
  WHERE region <> 'CN'
),
states AS (
  SELECT symbol, region, "month", known_from,
    last_value(CASE WHEN role = 0 THEN item END) IGNORE NULLS OVER states AS this,
    last_value(CASE WHEN role = 3 THEN item END) IGNORE NULLS OVER states AS quarter_ago,
    last_value(CASE WHEN role = 6 THEN item END) IGNORE NULLS OVER states AS half_ago,
    last_value(CASE WHEN role = 9 THEN item END) IGNORE NULLS OVER states AS three_quarters_ago,
    last_value(CASE WHEN role = 12 THEN item END) IGNORE NULLS OVER states AS year_ago,
    last_value(CASE WHEN role = -1 THEN shown END) IGNORE NULLS OVER states AS shown,
    lead(known_from) OVER
      (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end) AS next_known_from
  FROM parts
  WINDOW states AS
    (PARTITION BY symbol, "month" ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
),
judged AS (
  SELECT *,
    fiscal_quarter(region, "month", this.net_operating_cash_flow, quarter_ago.net_operating_cash_flow, half_ago.net_operating_cash_flow, three_quarters_ago.net_operating_cash_flow, year_ago.net_operating_cash_flow) AS by_operating,
    fiscal_quarter(region, "month", abs(this.capex), abs(quarter_ago.capex), abs(half_ago.capex), abs(three_quarters_ago.capex), abs(year_ago.capex)) AS by_capex
  FROM states
  WHERE next_known_from IS DISTINCT FROM known_from AND this IS NOT NULL
),
dated AS (
  SELECT *, CASE
    WHEN shown IS NOT NULL THEN nullif(shown, 0)
    WHEN coalesce(by_operating, by_capex) = coalesce(by_capex, by_operating) THEN coalesce(by_operating, by_capex)
  END AS fiscal_quarter
  FROM judged
),
quarters AS (
  SELECT *, twelve_months(fiscal_quarter, this.net_operating_cash_flow, quarter_ago.net_operating_cash_flow, half_ago.net_operating_cash_flow, three_quarters_ago.net_operating_cash_flow, year_ago.net_operating_cash_flow) AS operating_cash_flow_ttm,
    twelve_months(fiscal_quarter, abs(this.capex), abs(quarter_ago.capex), abs(half_ago.capex), abs(three_quarters_ago.capex), abs(year_ago.capex)) AS capex_ttm,
    CASE WHEN fiscal_quarter = 1 THEN this.net_operating_cash_flow
      WHEN fiscal_quarter > 1 THEN this.net_operating_cash_flow - quarter_ago.net_operating_cash_flow END AS operating_cash_flow_quarter,
    CASE WHEN fiscal_quarter = 2 THEN quarter_ago.net_operating_cash_flow
      WHEN fiscal_quarter > 0 THEN quarter_ago.net_operating_cash_flow - half_ago.net_operating_cash_flow END AS quarter_before
  FROM dated
)
SELECT
  symbol,
  "month",
  known_from,
  this.period_end AS period_end,
  this.announce_date AS announce_date,
  this.net_operating_cash_flow AS net_operating_cash_flow,
  this.net_investing_cash_flow AS net_investing_cash_flow,
  this.net_financing_cash_flow AS net_financing_cash_flow,
  this.net_cash_change AS net_cash_change,
  this.capex AS capex,
  this.net_operating_cash_flow - abs(this.capex) AS free_cash_flow,
  fiscal_quarter,
  operating_cash_flow_quarter,
  operating_cash_flow_ttm,
  capex_ttm,
  operating_cash_flow_ttm - capex_ttm AS free_cash_flow_ttm,
  relative_change(this.net_operating_cash_flow, year_ago.net_operating_cash_flow) AS operating_cash_flow_yoy,
  relative_change(operating_cash_flow_quarter, quarter_before) AS operating_cash_flow_qoq,
  region
FROM quarters;

COMMENT ON VIEW cash_flow_history IS 'Cash flow statements as they were known from each date on, with quarters, twelve months and changes. One row for each symbol, period and date on which something of it became known.';
