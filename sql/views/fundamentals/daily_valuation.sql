-- Each daily bar with its company's value and ratios, computed only from data that was known at the end of the day: the
-- newest reporting period known by then, in its newest version known by then. The numbers of shares are those of metadata
-- that was seen by then, else those that were reported by then, else those of the first metadata that was seen.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, balance_sheet_history, cash_flow_history,
-- income_history, instrument_versions, raw.known_shares. Conditions on symbol and trade_date reach the files of the bars.
-- Units: currency of the listing for prices, of the statement for its items. The ratios are valid only if both are the
-- same currency.
CREATE OR REPLACE VIEW daily_valuation AS
WITH newest_balance_sheet AS NOT MATERIALIZED (
  SELECT *
  FROM balance_sheet_history
  QUALIFY month = max(month) OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING)
),
newest_cash_flow AS NOT MATERIALIZED (
  SELECT *
  FROM cash_flow_history
  QUALIFY month = max(month) OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING)
),
newest_income AS NOT MATERIALIZED (
  SELECT *
  FROM income_history
  QUALIFY month = max(month) OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING)
)
SELECT
  d.symbol,
  d.trade_date,
  d.close,
  d.total_shares,
  d.known,
  d.close * d.total_shares AS market_value,
  d.close * d.float_shares AS float_market_value,
  b.period_end AS balance_sheet_period_end,
  b.book_value,
  b.debt_to_assets,
  b.current_ratio,
  b.accruals,
  b.total_assets_yoy,
  b.book_value_yoy,
  c.period_end AS cash_flow_period_end,
  c.operating_cash_flow_ttm,
  c.free_cash_flow_ttm,
  c.operating_cash_flow_yoy,
  CASE WHEN b.book_value > 0 THEN d.close * d.total_shares / b.book_value END AS price_to_book,
  c.operating_cash_flow_ttm / nullif(d.close * d.total_shares, 0) AS cash_flow_yield,
  c.free_cash_flow_ttm / nullif(d.close * d.total_shares, 0) AS free_cash_flow_yield,
  n.period_end AS income_period_end,
  n.revenue_ttm,
  n.net_income_ttm,
  n.gross_margin,
  n.net_margin,
  n.revenue_yoy,
  n.net_income_yoy,
  n.net_income_ttm / nullif(d.total_shares, 0) AS earnings_per_share_ttm,
  CASE WHEN n.net_income_ttm > 0 THEN d.close * d.total_shares / n.net_income_ttm END AS price_to_earnings,
  CASE WHEN n.revenue_ttm > 0 THEN d.close * d.total_shares / n.revenue_ttm END AS price_to_sales,
  CASE WHEN b.book_value > 0 THEN n.net_income_ttm / b.book_value END AS return_on_equity,
  d.region
FROM (
  SELECT b.symbol, b.trade_date, b.close, b.region,
    CASE WHEN i.known = 'observed' THEN coalesce(i.total_shares, s.total_shares) ELSE coalesce(s.total_shares, i.total_shares) END
      AS total_shares,
    CASE WHEN i.known = 'observed' THEN coalesce(i.float_shares, s.float_shares) ELSE coalesce(s.float_shares, i.float_shares) END
      AS float_shares,
    CASE
      WHEN s.total_shares IS NULL OR (i.known = 'observed' AND i.total_shares IS NOT NULL) THEN i.known
      ELSE 'reported'
    END AS known
  FROM raw.bars_1d AS b
  ASOF LEFT JOIN instrument_versions AS i ON i.symbol = b.symbol AND b.trade_date >= i.from_date
  LEFT JOIN raw.known_shares AS s ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < s.known_to
) AS d
ASOF LEFT JOIN newest_balance_sheet AS b ON b.symbol = d.symbol AND d.trade_date >= b.known_from
ASOF LEFT JOIN newest_cash_flow AS c ON c.symbol = d.symbol AND d.trade_date >= c.known_from
ASOF LEFT JOIN newest_income AS n ON n.symbol = d.symbol AND d.trade_date >= n.known_from;

COMMENT ON VIEW daily_valuation IS 'Each daily bar with its company''s value and ratios, made of nothing that was not known at the end of the day. One row for each symbol and trading date. A row changes where the first snapshot of the metadata, or a statement that was announced by then, is first seen later.';
COMMENT ON COLUMN daily_valuation.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN daily_valuation.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_valuation.close IS 'Last price, unadjusted. [currency]';
COMMENT ON COLUMN daily_valuation.total_shares IS 'Shares issued, as known on the date. [shares]';
COMMENT ON COLUMN daily_valuation.known IS 'Where total_shares is from: observed: metadata that was seen by then; reported: numbers of shares that were reported by then, which between a split and the next report are those of before it; assumed: the metadata that was first seen of the instrument; null: there is none.';
COMMENT ON COLUMN daily_valuation.market_value IS 'close * total_shares. [currency]';
COMMENT ON COLUMN daily_valuation.float_market_value IS 'close * float_shares, as known on the date. [currency]';
COMMENT ON COLUMN daily_valuation.balance_sheet_period_end IS 'Reporting period of the balance sheet that was known on the date.';
COMMENT ON COLUMN daily_valuation.book_value IS 'equity_attributable; where it is not reported, total_equity - minority_interest. [currency]';
COMMENT ON COLUMN daily_valuation.debt_to_assets IS 'total_liabilities / total_assets. [ratio]';
COMMENT ON COLUMN daily_valuation.current_ratio IS 'total_current_assets / total_current_liabilities. [ratio]';
COMMENT ON COLUMN daily_valuation.accruals IS 'Change over a year of (total_current_assets - cash_and_equivalents) - (total_current_liabilities - short_term_borrowing), over the average of total_assets at its two ends. [ratio]';
COMMENT ON COLUMN daily_valuation.total_assets_yoy IS 'total_assets against the period a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN daily_valuation.book_value_yoy IS 'book_value against the period a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN daily_valuation.cash_flow_period_end IS 'Reporting period of the cash flow statement that was known on the date.';
COMMENT ON COLUMN daily_valuation.operating_cash_flow_ttm IS 'net_operating_cash_flow of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. Null where a piece, or the fiscal quarter, is not known. [currency]';
COMMENT ON COLUMN daily_valuation.free_cash_flow_ttm IS 'operating_cash_flow_ttm - capex_ttm. [currency]';
COMMENT ON COLUMN daily_valuation.operating_cash_flow_yoy IS 'net_operating_cash_flow from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN daily_valuation.price_to_book IS 'market_value / book_value; null where the book value is not above 0. [ratio]';
COMMENT ON COLUMN daily_valuation.cash_flow_yield IS 'operating_cash_flow_ttm / market_value. [ratio]';
COMMENT ON COLUMN daily_valuation.free_cash_flow_yield IS 'free_cash_flow_ttm / market_value. [ratio]';
COMMENT ON COLUMN daily_valuation.income_period_end IS 'Reporting period of the income statement that was known on the date.';
COMMENT ON COLUMN daily_valuation.revenue_ttm IS 'revenue of the last twelve months: the report + the year before - the same period a year before; of a full year, the report. Null where a piece, or the fiscal quarter, is not known. [currency]';
COMMENT ON COLUMN daily_valuation.net_income_ttm IS 'net_income_attributable of the last twelve months, likewise. [currency]';
COMMENT ON COLUMN daily_valuation.gross_margin IS '(revenue - operating_cost) / revenue, from the start of the year. [ratio]';
COMMENT ON COLUMN daily_valuation.net_margin IS 'net_income / revenue, from the start of the year. [ratio]';
COMMENT ON COLUMN daily_valuation.revenue_yoy IS 'revenue from the start of the year against the same months a year before: (x - x0) / abs(x0). [ratio]';
COMMENT ON COLUMN daily_valuation.net_income_yoy IS 'net_income_attributable, likewise. [ratio]';
COMMENT ON COLUMN daily_valuation.earnings_per_share_ttm IS 'net_income_ttm / total_shares, the shares as known on the date. [currency a share]';
COMMENT ON COLUMN daily_valuation.price_to_earnings IS 'market_value / net_income_ttm; null where the earnings are not above 0. [ratio]';
COMMENT ON COLUMN daily_valuation.price_to_sales IS 'market_value / revenue_ttm; null where the revenue is not above 0. [ratio]';
COMMENT ON COLUMN daily_valuation.return_on_equity IS 'net_income_ttm / book_value, both as known on the date; null where the book value is not above 0. [ratio]';
COMMENT ON COLUMN daily_valuation.region IS 'Region: CN, HK or US.';
