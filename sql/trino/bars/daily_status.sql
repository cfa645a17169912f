-- Whether and how each instrument could be traded on each session: suspended, at a limit, turnover. See
-- sql/views/bars/daily_status.sql for the limit that applies.
-- Grain: one row for each symbol and session. Inputs: raw.bars_1d, raw.trading_days, instrument_versions.
-- Conditions on symbol and trade_date reach the files of the bars.
CREATE OR REPLACE VIEW daily_status AS
WITH days AS (
  SELECT symbol, trade_date, open, high, low, close, prev_close, volume, shares_of(volume, lot) AS shares, region, true AS has_bar,
    is_near_limit(low, high, close, prev_close) AS near_limit
  FROM raw.bars_1d
  UNION ALL
  SELECT s.symbol, d.trade_date, NULL, NULL, NULL, NULL, NULL, 0, 0, s.region, false, false
  FROM (SELECT symbol, region, min(trade_date) AS first_date FROM raw.bars_1d GROUP BY symbol, region) AS s
  JOIN raw.trading_days AS d ON d.region = s.region AND d.trade_date > s.first_date
  LEFT JOIN (SELECT DISTINCT symbol, trade_date FROM raw.bars_1d) AS b ON b.symbol = s.symbol AND b.trade_date = d.trade_date
  WHERE b.symbol IS NULL
),
-- The newest version that had begun is used, even if it has ended, for a bar after a delisting.
sessions AS (
  SELECT region, trade_date AS session_date, lead(trade_date, 5) OVER (PARTITION BY region ORDER BY trade_date) AS sixth
  FROM raw.trading_days
),
counted AS (
  SELECT *, unlimited_sessions(symbol, "type", listing_date) AS unlimited,
    lead(from_date) OVER (PARTITION BY symbol ORDER BY from_date) AS next_from
  FROM instrument_versions
),
versions AS (
  SELECT v.*, limits_from(v.listing_date, v.unlimited, s.session_date, s.sixth) AS limited_from,
    CASE WHEN v.known = 'observed' OR v."type" = 'etf' THEN v.name END AS known_name
  FROM counted AS v
  LEFT JOIN sessions AS s ON s.region = v.region AND s.session_date = v.listing_date
),
known_days AS (
  SELECT d.*, v.known, v.total_shares, v.float_shares, v.from_date, v.to_date, v.limit_up AS stated_up, v.limit_down AS stated_down,
    d.trade_date < v.limited_from AS is_new,
    CASE WHEN d.trade_date < v.limited_from THEN CASE WHEN d.trade_date = v.listing_date THEN first_limit(d.symbol, v.listing_date, v.unlimited) END
      ELSE limit_percent(d.symbol, d.trade_date, v."type", v.known_name) END AS percent,
    price_decimals(d.symbol, v."type") AS decimals,
    ten_thousandths(d.prev_close) AS prev_close_4
  FROM days AS d
  LEFT JOIN versions AS v
    ON v.symbol = d.symbol AND d.trade_date >= v.from_date AND d.trade_date < coalesce(v.next_from, DATE '9999-12-31')
),
observed AS (
  SELECT *, known = 'observed' AND from_date = trade_date AND stated_up > 0 AS is_observed,
    round(prev_close_4 * (100 + percent) / power(10, 6 - decimals)) / power(10, decimals) AS rule_up,
    round(prev_close_4 * (100 - down_limit(percent)) / power(10, 6 - decimals)) / power(10, decimals) AS rule_down
  FROM known_days
  WHERE has_bar OR to_date IS NULL OR trade_date < to_date
),
judged AS (
  SELECT *, is_refuted(volume, low, high, rule_up, rule_down) AS is_outside
  FROM observed
),
limited AS (
  SELECT *,
    CASE WHEN is_observed THEN nullif(stated_up, 100000) WHEN NOT is_outside THEN rule_up END AS limit_up_price,
    CASE WHEN is_observed THEN nullif(stated_down, 0) WHEN NOT is_outside THEN rule_down END AS limit_down_price
  FROM judged
)
SELECT
  symbol,
  trade_date,
  has_bar,
  volume = 0 AS suspended,
  limit_up_price,
  limit_down_price,
  CASE WHEN is_observed THEN 'observed' WHEN is_outside THEN 'refuted' WHEN rule_up IS NOT NULL THEN 'rule'
    WHEN is_new THEN 'new' END AS limit_source,
  volume > 0 AND at_limit_up(close, limit_up_price) AS limit_up,
  volume > 0 AND at_limit_down(close, limit_down_price) AS limit_down,
  is_tradable(volume, low, high, limit_up_price, limit_down_price) AS tradable,
  shares,
  float_shares,
  total_shares,
  CASE WHEN float_shares > 0 THEN shares / float_shares END AS turnover,
  known,
  near_limit,
  region
FROM limited;

COMMENT ON VIEW daily_status IS 'Whether and how each instrument could be traded on each session: suspended, at a limit, turnover. One row for each symbol and session.';
