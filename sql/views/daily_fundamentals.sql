-- Each daily bar with the instrument's metadata and the newest statements that had been announced by that date.
-- Among the statements announced by then: the greatest period_end, then the newest announcement of it. A late
-- restatement of an old quarter therefore never takes the place of a newer quarter.
-- A statement without an announcement date counts as announced on the day that this lake first saw it.
-- Grain: one row a symbol and trading date. Inputs: bars_1d, instruments, raw.balance_sheet, raw.cash_flow.
-- Units: prices, amounts and statement items in the instrument's currency, as delivered; shares in shares.
CREATE OR REPLACE VIEW daily_fundamentals AS
WITH known_balance_sheet AS (
  SELECT
    symbol,
    known_from,
    max_by(statement, (period_end, known_from, first_seen_at)) OVER (
      PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING
    ) AS statement
  FROM (
    SELECT
      symbol,
      period_end,
      first_seen_at,
      coalesce(announce_date, CAST(first_seen_at AS DATE)) AS known_from,
      struct_pack(
        period_end := period_end,
        announce_date := announce_date,
        total_assets := total_assets,
        total_liabilities := total_liabilities,
        total_equity := total_equity,
        equity_attributable := equity_attributable,
        cash_and_equivalents := cash_and_equivalents
      ) AS statement
    FROM raw.balance_sheet
  )
),
known_cash_flow AS (
  SELECT
    symbol,
    known_from,
    max_by(statement, (period_end, known_from, first_seen_at)) OVER (
      PARTITION BY symbol ORDER BY known_from RANGE UNBOUNDED PRECEDING
    ) AS statement
  FROM (
    SELECT
      symbol,
      period_end,
      first_seen_at,
      coalesce(announce_date, CAST(first_seen_at AS DATE)) AS known_from,
      struct_pack(
        period_end := period_end,
        announce_date := announce_date,
        net_operating_cash_flow := net_operating_cash_flow,
        net_investing_cash_flow := net_investing_cash_flow,
        net_financing_cash_flow := net_financing_cash_flow,
        capex := capex
      ) AS statement
    FROM raw.cash_flow
  )
),
balance_sheet_from AS (SELECT DISTINCT symbol, known_from, statement FROM known_balance_sheet),
cash_flow_from AS (SELECT DISTINCT symbol, known_from, statement FROM known_cash_flow)
SELECT
  b.symbol,
  b.trade_date,
  i.name,
  i.type,
  i.exchange,
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
  s.statement.period_end AS balance_sheet_period_end,
  s.statement.announce_date AS balance_sheet_announce_date,
  s.statement.total_assets AS total_assets,
  s.statement.total_liabilities AS total_liabilities,
  s.statement.total_equity AS total_equity,
  s.statement.equity_attributable AS equity_attributable,
  s.statement.cash_and_equivalents AS cash_and_equivalents,
  c.statement.period_end AS cash_flow_period_end,
  c.statement.announce_date AS cash_flow_announce_date,
  c.statement.net_operating_cash_flow AS net_operating_cash_flow,
  c.statement.net_investing_cash_flow AS net_investing_cash_flow,
  c.statement.net_financing_cash_flow AS net_financing_cash_flow,
  c.statement.capex AS capex
FROM bars_1d AS b
LEFT JOIN instruments AS i ON i.symbol = b.symbol
ASOF LEFT JOIN balance_sheet_from AS s ON s.symbol = b.symbol AND b.trade_date >= s.known_from
ASOF LEFT JOIN cash_flow_from AS c ON c.symbol = b.symbol AND b.trade_date >= c.known_from;

COMMENT ON VIEW daily_fundamentals IS 'Each daily bar with the instrument''s metadata and the newest statements announced by that date: the greatest period_end, then its newest announcement.';
COMMENT ON COLUMN daily_fundamentals.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_fundamentals.shares IS 'Traded volume. [shares]';
COMMENT ON COLUMN daily_fundamentals.total_shares IS 'Shares issued, as the instrument''s metadata stands now. [shares]';
COMMENT ON COLUMN daily_fundamentals.balance_sheet_period_end IS 'Reporting period of the balance sheet that was known on the date.';
COMMENT ON COLUMN daily_fundamentals.cash_flow_period_end IS 'Reporting period of the cash flow statement that was known on the date.';
