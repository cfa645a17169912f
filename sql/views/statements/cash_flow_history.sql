-- Cash flow statements as they were known from each date on, with quarters, twelve months and changes that use only
-- versions known by then. Flows in reports are cumulated from the start of the fiscal year: see fiscal_quarter for where it
-- begins, by the revenues of income_history that are known; of a company without income statements, by operating cash
-- flow or capex, if they do not show different ones. If nothing shows it, quarters and twelve months are null.
-- Grain: one row for each symbol, period and date on which a part of it became known. Inputs: raw.cash_flow,
-- known_versions, income_history.
-- Units: items in the currency of the statement, as reported; ratios as plain numbers.
CREATE OR REPLACE VIEW cash_flow_history AS
WITH versions AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from,
    period_month(period_end) AS month, struct_pack(
    period_end := period_end,
    announce_date := announce_date,
    net_operating_cash_flow := net_operating_cash_flow,
    net_investing_cash_flow := net_investing_cash_flow,
    net_financing_cash_flow := net_financing_cash_flow,
    net_cash_change := net_cash_change,
    capex := capex
  ) AS item
  FROM known_versions('raw.cash_flow')
),
-- Each version with the periods whose rows use it, and its role there: 0 the period itself, else the number of months
-- before it; and, as -1, the fiscal quarter that the revenues show (0: none).
parts AS NOT MATERIALIZED (
  SELECT symbol, region, first_seen_at, known_from, item, part.role AS role,
    last_day(month + to_months(part.months)) AS month
  FROM (
    SELECT *, unnest([{'role': 0, 'months': 0}, {'role': 3, 'months': 3}, {'role': 6, 'months': 6}, {'role': 9, 'months': 9}, {'role': 12, 'months': 12}]) AS part
    FROM versions
  )
  UNION ALL BY NAME
  SELECT symbol, region, TIMESTAMPTZ '1970-01-01 00:00:00+00' AS first_seen_at, known_from, -1 AS role, month,
    coalesce(fiscal_quarter, 0) AS shown
  FROM income_history
  WHERE region <> 'CN'
),
states AS NOT MATERIALIZED (
  SELECT symbol, region, month, known_from,
    last_value(CASE WHEN role = 0 THEN item END IGNORE NULLS) OVER states AS this,
    last_value(CASE WHEN role = 3 THEN item END IGNORE NULLS) OVER states AS quarter_ago,
    last_value(CASE WHEN role = 6 THEN item END IGNORE NULLS) OVER states AS half_ago,
    last_value(CASE WHEN role = 9 THEN item END IGNORE NULLS) OVER states AS three_quarters_ago,
    last_value(CASE WHEN role = 12 THEN item END IGNORE NULLS) OVER states AS year_ago,
    last_value(CASE WHEN role = -1 THEN shown END IGNORE NULLS) OVER states AS shown
  FROM parts
  WINDOW states AS (
    PARTITION BY symbol, month ORDER BY known_from, first_seen_at, item.announce_date NULLS FIRST, item.period_end ROWS UNBOUNDED PRECEDING)
  QUALIFY lead(known_from) OVER states IS DISTINCT FROM known_from
),
judged AS NOT MATERIALIZED (
  SELECT *,
    fiscal_quarter(region, month, this.net_operating_cash_flow, quarter_ago.net_operating_cash_flow, half_ago.net_operating_cash_flow, three_quarters_ago.net_operating_cash_flow, year_ago.net_operating_cash_flow) AS by_operating,
    fiscal_quarter(region, month, abs(this.capex), abs(quarter_ago.capex), abs(half_ago.capex), abs(three_quarters_ago.capex), abs(year_ago.capex)) AS by_capex
  FROM states
  WHERE this IS NOT NULL
),
dated AS NOT MATERIALIZED (
  SELECT *, CASE
    WHEN shown IS NOT NULL THEN nullif(shown, 0)
    WHEN coalesce(by_operating, by_capex) = coalesce(by_capex, by_operating) THEN coalesce(by_operating, by_capex)
  END AS fiscal_quarter
  FROM judged
),
quarters AS NOT MATERIALIZED (
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
  month,
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

COMMENT ON VIEW cash_flow_history IS 'Cash flow statements as they were known from each date on, with quarters and trailing twelve months of reports that cumulate over the fiscal year. One row for each symbol, period and date on which something of it became known. A version counts as known_versions says.';
COMMENT ON COLUMN cash_flow_history.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN cash_flow_history.month IS 'Month end that the period belongs to: what periods of different years are compared by.';
COMMENT ON COLUMN cash_flow_history.known_from IS 'First date on which the row was known: one of its statements counts from then on. It is valid until the next row of the period.';
COMMENT ON COLUMN cash_flow_history.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN cash_flow_history.announce_date IS 'Date of publication of the period''s own version; null where the source does not state it.';
COMMENT ON COLUMN cash_flow_history.net_operating_cash_flow IS 'Net operating cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN cash_flow_history.net_investing_cash_flow IS 'Net investing cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN cash_flow_history.net_financing_cash_flow IS 'Net financing cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN cash_flow_history.net_cash_change IS 'Net cash change, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN cash_flow_history.capex IS 'Capex, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN cash_flow_history.free_cash_flow IS 'net_operating_cash_flow - abs(capex), from the start of the year: sources differ in the sign of capex. [currency]';
COMMENT ON COLUMN cash_flow_history.fiscal_quarter IS 'Quarter of the fiscal year at whose end the period ends, 1 to 4: by the calendar in China; elsewhere as the revenues that were known show it, or, without income statements, operating cash flow or capex. Null, and with it quarters and twelve months: they do not.';
COMMENT ON COLUMN cash_flow_history.operating_cash_flow_quarter IS 'net_operating_cash_flow of the quarter alone: the report less that of the quarter before; of the first quarter, the report. [currency]';
COMMENT ON COLUMN cash_flow_history.operating_cash_flow_ttm IS 'net_operating_cash_flow of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. Null where a piece, or the fiscal quarter, is not known. [currency]';
COMMENT ON COLUMN cash_flow_history.capex_ttm IS 'abs(capex) of the last twelve months, likewise. [currency]';
COMMENT ON COLUMN cash_flow_history.free_cash_flow_ttm IS 'operating_cash_flow_ttm - capex_ttm. [currency]';
COMMENT ON COLUMN cash_flow_history.operating_cash_flow_yoy IS 'net_operating_cash_flow from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN cash_flow_history.operating_cash_flow_qoq IS 'operating_cash_flow_quarter against the quarter before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN cash_flow_history.region IS 'Region: CN, HK or US.';
