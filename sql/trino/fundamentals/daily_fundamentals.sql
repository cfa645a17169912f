-- Each daily bar with the instrument's metadata and the newest statements that had been announced by that date. See
-- sql/views/fundamentals/daily_fundamentals.sql for the choice of the statement.
-- Grain: one row for each symbol and trading date. Inputs: bars_1d, instruments, raw.balance_sheet, raw.cash_flow,
-- raw.income.
-- Units: prices, amounts and statement items in the instrument's currency, as delivered; shares in shares.
CREATE OR REPLACE VIEW daily_fundamentals AS
SELECT
  b.symbol,
  b.trade_date,
  i.name,
  i."type",
  i."exchange",
  b.region,
  b.open,
  b.high,
  b.low,
  b.close,
  b.prev_close,
  b.shares,
  b.amount,
  i.total_shares,
  i.float_shares,
  s.period_end AS balance_sheet_period_end,
  s.announce_date AS balance_sheet_announce_date,
  s.total_assets,
  s.total_liabilities,
  s.total_equity,
  s.equity_attributable,
  s.cash_and_equivalents,
  c.period_end AS cash_flow_period_end,
  c.announce_date AS cash_flow_announce_date,
  c.net_operating_cash_flow,
  c.net_investing_cash_flow,
  c.net_financing_cash_flow,
  c.capex,
  n.period_end AS income_period_end,
  n.announce_date AS income_announce_date,
  n.revenue,
  n.operating_profit,
  n.net_income,
  n.net_income_attributable,
  n.basic_eps
FROM bars_1d AS b
LEFT JOIN instruments AS i ON i.symbol = b.symbol
LEFT JOIN known_statements(raw.balance_sheet) AS s
  ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < coalesce(s.known_to, DATE '9999-12-31')
LEFT JOIN known_statements(raw.cash_flow) AS c
  ON c.symbol = b.symbol AND b.trade_date >= c.known_from AND b.trade_date < coalesce(c.known_to, DATE '9999-12-31')
LEFT JOIN known_statements(raw.income) AS n
  ON n.symbol = b.symbol AND b.trade_date >= n.known_from AND b.trade_date < coalesce(n.known_to, DATE '9999-12-31');

COMMENT ON VIEW daily_fundamentals IS 'Each daily bar with the instrument''s metadata and the newest statements that had been announced by that date. One row for each symbol and trading date.';
