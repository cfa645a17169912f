-- Each daily bar with its company's value and ratios, computed only from data that was known at the end of the day. See
-- sql/views/fundamentals/daily_valuation.sql.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, balance_sheet_history, cash_flow_history,
-- income_history, instrument_versions, raw.shares. Conditions on symbol and trade_date reach the files of the bars.
-- Units: currency of the listing for prices, of the statement for its items. The ratios are valid only if both are the
-- same currency.
CREATE OR REPLACE VIEW daily_valuation AS
WITH newest_balance_sheet AS (
  SELECT *, lead(known_from) OVER (PARTITION BY symbol ORDER BY known_from) AS known_to
  FROM (
    SELECT *, max("month") OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING) AS newest
    FROM balance_sheet_history
  )
  WHERE "month" = newest
),
newest_cash_flow AS (
  SELECT *, lead(known_from) OVER (PARTITION BY symbol ORDER BY known_from) AS known_to
  FROM (
    SELECT *, max("month") OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING) AS newest
    FROM cash_flow_history
  )
  WHERE "month" = newest
),
newest_income AS (
  SELECT *, lead(known_from) OVER (PARTITION BY symbol ORDER BY known_from) AS known_to
  FROM (
    SELECT *, max("month") OVER (PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING) AS newest
    FROM income_history
  )
  WHERE "month" = newest
),
-- The newest version that had begun is used, even if it has ended, for a bar after a delisting.
versions AS (
  SELECT *, lead(from_date) OVER (PARTITION BY symbol ORDER BY from_date) AS next_from
  FROM instrument_versions
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
  LEFT JOIN versions AS i
    ON i.symbol = b.symbol AND b.trade_date >= i.from_date AND b.trade_date < coalesce(i.next_from, DATE '9999-12-31')
  LEFT JOIN known_statements(raw.shares) AS s
    ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < coalesce(s.known_to, DATE '9999-12-31')
) AS d
LEFT JOIN newest_balance_sheet AS b
  ON b.symbol = d.symbol AND d.trade_date >= b.known_from AND d.trade_date < coalesce(b.known_to, DATE '9999-12-31')
LEFT JOIN newest_cash_flow AS c
  ON c.symbol = d.symbol AND d.trade_date >= c.known_from AND d.trade_date < coalesce(c.known_to, DATE '9999-12-31')
LEFT JOIN newest_income AS n
  ON n.symbol = d.symbol AND d.trade_date >= n.known_from AND d.trade_date < coalesce(n.known_to, DATE '9999-12-31');

COMMENT ON VIEW daily_valuation IS 'Each daily bar with its company''s value and ratios, made of nothing that was not known at the end of the day. One row for each symbol and trading date.';
