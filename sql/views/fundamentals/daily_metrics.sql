-- Each daily bar with the ratios and shares that its company reported, as known at the end of the day; the period and
-- version are chosen as in daily_fundamentals. The ratios are computed by the source. daily_valuation has ratios that
-- are computed here, from twelve months and the day's price.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, raw.metrics, raw.shares.
-- Conditions on symbol and trade_date reach the files of the bars.
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
LEFT JOIN raw.known_metrics AS m
  ON m.symbol = b.symbol AND b.trade_date >= m.known_from AND b.trade_date < m.known_to
LEFT JOIN raw.known_shares AS s
  ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < s.known_to;

COMMENT ON VIEW daily_metrics IS 'Each daily bar with the ratios and shares that its company had reported by that date. One row for each symbol and trading date. A row changes where a report that was announced by then is first seen later.';
COMMENT ON COLUMN daily_metrics.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN daily_metrics.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_metrics.metrics_period_end IS 'Reporting period of the metrics that were known on the date.';
COMMENT ON COLUMN daily_metrics.metrics_announce_date IS 'Their date of publication, where the source states it.';
COMMENT ON COLUMN daily_metrics.bps IS 'Bps, as reported. [currency a share]';
COMMENT ON COLUMN daily_metrics.eps_basic IS 'Eps basic, as reported. [currency a share]';
COMMENT ON COLUMN daily_metrics.eps_diluted IS 'Eps diluted, as reported. [currency a share]';
COMMENT ON COLUMN daily_metrics.ocfps IS 'Ocfps, as reported. [currency a share]';
COMMENT ON COLUMN daily_metrics.debt_to_asset_ratio IS 'Debt to asset ratio, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.gross_margin IS 'Gross margin, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.inventory_turnover IS 'Inventory turnover, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.net_income_yoy IS 'Net income yoy, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.net_margin IS 'Net margin, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.operating_cash_to_revenue IS 'Operating cash to revenue, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.revenue_yoy IS 'Revenue yoy, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.roa IS 'Roa, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.roe IS 'Roe, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.roe_diluted IS 'Roe diluted, as reported. [as delivered]';
COMMENT ON COLUMN daily_metrics.shares_period_end IS 'Date of the numbers of shares that were known on the date.';
COMMENT ON COLUMN daily_metrics.shares_announce_date IS 'Their date of publication, where the source states it.';
COMMENT ON COLUMN daily_metrics.total_shares IS 'Shares issued, as reported; null where none are. daily_valuation takes those of the metadata that was seen by then first. [shares]';
COMMENT ON COLUMN daily_metrics.float_shares IS 'Shares that trade freely, as reported. [shares]';
COMMENT ON COLUMN daily_metrics.region IS 'Region: CN, HK or US.';
