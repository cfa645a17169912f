-- Income statements as they were known from each date on, with twelve months, margins and growth that use only versions
-- known by then. Flows in reports are cumulated from the start of the fiscal year: see fiscal_quarter for where it begins,
-- by the revenues that are known. If they do not show it, the twelve months are null.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.income,
-- known_versions.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW income_history AS
WITH versions AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS month, struct_pack(
    period_end := period_end,
    announce_date := announce_date,
    revenue := revenue,
    operating_cost := operating_cost,
    operating_profit := operating_profit,
    total_profit := total_profit,
    net_income := net_income,
    net_income_attributable := net_income_attributable,
    net_income_deducted := net_income_deducted,
    basic_eps := basic_eps,
    diluted_eps := diluted_eps
  ) AS item
  FROM known_versions('raw.income')
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it.
parts AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from, item, part.role AS role,
    last_day(month + to_months(part.months)) AS month
  FROM (
    SELECT *, unnest([{'role': 0, 'months': 0}, {'role': 3, 'months': 3}, {'role': 6, 'months': 6}, {'role': 9, 'months': 9}, {'role': 12, 'months': 12}]) AS part
    FROM versions
  )
),
-- Structures of other periods have only the items that are used: a window over structures of all items takes nearly
-- twice as long.
states AS NOT MATERIALIZED (
  SELECT symbol, region, month, known_from,
    last_value(CASE WHEN role = 0 THEN item END IGNORE NULLS) OVER states AS this,
    last_value(CASE WHEN role = 3 THEN struct_pack(revenue := item.revenue, net_income_attributable := item.net_income_attributable) END IGNORE NULLS) OVER states AS quarter_ago,
    last_value(CASE WHEN role = 6 THEN struct_pack(revenue := item.revenue, net_income_attributable := item.net_income_attributable) END IGNORE NULLS) OVER states AS half_ago,
    last_value(CASE WHEN role = 9 THEN struct_pack(revenue := item.revenue, net_income_attributable := item.net_income_attributable) END IGNORE NULLS) OVER states AS three_quarters_ago,
    last_value(CASE WHEN role = 12 THEN struct_pack(revenue := item.revenue, net_income_attributable := item.net_income_attributable) END IGNORE NULLS) OVER states AS year_ago
  FROM parts
  WINDOW states AS (
    PARTITION BY symbol, month ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
  QUALIFY lead(known_from) OVER states IS DISTINCT FROM known_from
),
judged AS NOT MATERIALIZED (
  SELECT *, fiscal_quarter(region, month, this.revenue, quarter_ago.revenue, half_ago.revenue, three_quarters_ago.revenue, year_ago.revenue) AS fiscal_quarter
  FROM states
  WHERE this IS NOT NULL
)
SELECT
  symbol,
  month,
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
  coalesce(fiscal_quarter * 3 = month(month), false) AS is_calendar_year,
  twelve_months(fiscal_quarter, this.revenue, quarter_ago.revenue, half_ago.revenue, three_quarters_ago.revenue, year_ago.revenue) AS revenue_ttm,
  twelve_months(fiscal_quarter, this.net_income_attributable, quarter_ago.net_income_attributable, half_ago.net_income_attributable, three_quarters_ago.net_income_attributable, year_ago.net_income_attributable) AS net_income_ttm,
  CASE WHEN this.revenue > 0 THEN (this.revenue - this.operating_cost) / this.revenue END AS gross_margin,
  CASE WHEN this.revenue > 0 THEN this.operating_profit / this.revenue END AS operating_margin,
  CASE WHEN this.revenue > 0 THEN this.net_income / this.revenue END AS net_margin,
  relative_change(this.revenue, year_ago.revenue) AS revenue_yoy,
  relative_change(this.net_income_attributable, year_ago.net_income_attributable) AS net_income_yoy,
  region
FROM judged;

COMMENT ON VIEW income_history IS 'Income statements as they were known from each date on, with trailing twelve months of reports that cumulate over the fiscal year. One row for each symbol, period and date on which something of it became known. A version counts as known_versions says.';
COMMENT ON COLUMN income_history.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN income_history.month IS 'Month end that the period belongs to: what periods of different years are compared by.';
COMMENT ON COLUMN income_history.known_from IS 'First date on which the row was known: one of its statements counts from then on. It is valid until the next row of the period.';
COMMENT ON COLUMN income_history.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN income_history.announce_date IS 'Date of publication of the period''s own version; null where the source does not state it.';
COMMENT ON COLUMN income_history.revenue IS 'Revenue, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.operating_cost IS 'Operating cost, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.operating_profit IS 'Operating profit, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.total_profit IS 'Total profit, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.net_income IS 'Net income, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.net_income_attributable IS 'Net income attributable, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.net_income_deducted IS 'Net income deducted, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN income_history.basic_eps IS 'Basic eps, as reported: from the start of the year. [currency a share]';
COMMENT ON COLUMN income_history.diluted_eps IS 'Diluted eps, as reported: from the start of the year. [currency a share]';
COMMENT ON COLUMN income_history.fiscal_quarter IS 'Quarter of the fiscal year at whose end the period ends, 1 to 4: by the calendar in China; elsewhere as the revenues that were known show it. Null, and with it the twelve months: they do not.';
COMMENT ON COLUMN income_history.is_calendar_year IS 'Whether the reports are shown to cumulate from January.';
COMMENT ON COLUMN income_history.revenue_ttm IS 'revenue of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. Null where a piece, or the fiscal quarter, is not known. [currency]';
COMMENT ON COLUMN income_history.net_income_ttm IS 'net_income_attributable of the last twelve months, likewise. [currency]';
COMMENT ON COLUMN income_history.gross_margin IS '(revenue - operating_cost) / revenue, from the start of the year. [ratio]';
COMMENT ON COLUMN income_history.operating_margin IS 'operating_profit / revenue, from the start of the year. [ratio]';
COMMENT ON COLUMN income_history.net_margin IS 'net_income / revenue, from the start of the year. [ratio]';
COMMENT ON COLUMN income_history.revenue_yoy IS 'revenue from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN income_history.net_income_yoy IS 'net_income_attributable, likewise. [ratio]';
COMMENT ON COLUMN income_history.region IS 'Region: CN, HK or US.';
