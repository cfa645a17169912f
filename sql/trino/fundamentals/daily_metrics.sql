-- Each daily bar with the ratios and shares that its company had reported by that date. See
-- sql/views/fundamentals/daily_metrics.sql.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, raw.metrics, raw.shares.
CREATE OR REPLACE VIEW daily_metrics AS
SELECT
  b.symbol,
  b.trade_date,
  m.period_end AS metrics_period_end,
  m.announce_date AS metrics_announce_date,
  m.bps,
  m.eps_basic,
  m.eps_diluted,
  m.ocfps,
  m.debt_to_asset_ratio,
  m.gross_margin,
  m.inventory_turnover,
  m.net_income_yoy,
  m.net_margin,
  m.operating_cash_to_revenue,
  m.revenue_yoy,
  m.roa,
  m.roe,
  m.roe_diluted,
  s.period_end AS shares_period_end,
  s.announce_date AS shares_announce_date,
  s.total_shares,
  s.float_shares,
  b.region
FROM raw.bars_1d AS b
LEFT JOIN known_statements(raw.metrics) AS m
  ON m.symbol = b.symbol AND b.trade_date >= m.known_from AND b.trade_date < coalesce(m.known_to, DATE '9999-12-31')
LEFT JOIN known_statements(raw.shares) AS s
  ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < coalesce(s.known_to, DATE '9999-12-31');

COMMENT ON VIEW daily_metrics IS 'Each daily bar with the ratios and shares that its company had reported by that date. One row for each symbol and trading date.';
