-- Whether and how each instrument could be traded on each session: suspended, at a limit, turnover. A session after an
-- instrument's first bar on which it has no bar counts as suspended, unless the instrument was known to be delisted.
-- The limit is the one in the metadata's snapshot of that day, else the rule of the Chinese exchanges applied to
-- prev_close, except in the ten days after a listing, in which other rules apply.
-- Grain: one row for each symbol and session. Inputs: raw.bars_1d, raw.trading_days, instrument_versions,
-- limit_percent, limits_from, price_decimals.
-- Conditions on symbol and trade_date reach the files of the bars.
CREATE OR REPLACE VIEW daily_status AS
WITH days AS NOT MATERIALIZED (
  SELECT symbol, trade_date, open, high, low, close, prev_close, volume, shares_of(volume, lot) AS shares, region, true AS has_bar,
    is_near_limit(low, high, close, prev_close) AS near_limit
  FROM raw.bars_1d
  UNION ALL
  SELECT s.symbol, d.trade_date, NULL, NULL, NULL, NULL, NULL, 0, 0, s.region, false, false
  FROM (SELECT symbol, region, min(trade_date) AS first_date FROM raw.bars_1d GROUP BY symbol, region) AS s
  JOIN raw.trading_days AS d ON d.region = s.region AND d.trade_date > s.first_date
  ANTI JOIN raw.bars_1d AS b ON b.symbol = s.symbol AND b.trade_date = d.trade_date
),
known_days AS NOT MATERIALIZED (
  SELECT d.*, v.known, v.total_shares, v.float_shares, v.from_date, v.to_date, v.limit_up, v.limit_down,
    CASE WHEN v.listing_date IS NULL OR d.trade_date >= limits_from(v.listing_date) THEN
      limit_percent(d.symbol, d.trade_date, v.type, v.name) END AS percent,
    price_decimals(d.symbol, v.type) AS decimals
  FROM days AS d
  ASOF LEFT JOIN instrument_versions AS v ON v.symbol = d.symbol AND d.trade_date >= v.from_date
),
limited AS NOT MATERIALIZED (
  SELECT *,
    known = 'observed' AND from_date = trade_date AND limit_up > 0 AS is_observed,
    CASE WHEN is_observed THEN nullif(limit_up, 100000)
      ELSE CAST(round(TRY_CAST(prev_close AS DECIMAL(18, 4)) * (100 + percent) / 100, decimals) AS DOUBLE) END AS limit_up_price,
    CASE WHEN is_observed THEN nullif(limit_down, 0)
      ELSE CAST(round(TRY_CAST(prev_close AS DECIMAL(18, 4)) * (100 - percent) / 100, decimals) AS DOUBLE) END AS limit_down_price
  FROM known_days
  WHERE has_bar OR to_date IS NULL OR trade_date < to_date
)
SELECT
  symbol,
  trade_date,
  has_bar,
  volume = 0 AS suspended,
  limit_up_price,
  limit_down_price,
  CASE WHEN is_observed THEN 'observed' WHEN limit_up_price IS NOT NULL THEN 'rule' END AS limit_source,
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

COMMENT ON VIEW daily_status IS 'Whether and how each instrument could be traded on each session. One row for each symbol and session since its first bar. A row comes late, or changes, where a bar or the first snapshot of the metadata comes later.';
COMMENT ON COLUMN daily_status.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN daily_status.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_status.has_bar IS 'Whether a bar was delivered: a suspended day may have one, or none.';
COMMENT ON COLUMN daily_status.suspended IS 'Nothing traded on the session.';
COMMENT ON COLUMN daily_status.limit_up_price IS 'Highest price permitted that day; null where there is no limit, or none is known. [currency]';
COMMENT ON COLUMN daily_status.limit_down_price IS 'Lowest price permitted that day. [currency]';
COMMENT ON COLUMN daily_status.limit_source IS 'observed: stated by the metadata of that day; rule: prev_close x (1 +/- limit_percent), rounded half up to the tick.';
COMMENT ON COLUMN daily_status.limit_up IS 'Closed at the upper limit.';
COMMENT ON COLUMN daily_status.limit_down IS 'Closed at the lower limit.';
COMMENT ON COLUMN daily_status.tradable IS 'Traded, and not at one limit alone all day.';
COMMENT ON COLUMN daily_status.shares IS 'Traded volume. [shares]';
COMMENT ON COLUMN daily_status.float_shares IS 'Shares that trade freely, as known on the date. [shares]';
COMMENT ON COLUMN daily_status.total_shares IS 'Shares issued, as known on the date. [shares]';
COMMENT ON COLUMN daily_status.turnover IS 'shares / float_shares. [ratio]';
COMMENT ON COLUMN daily_status.known IS 'observed: the metadata was seen by then; assumed: it is what was first seen of the instrument; null: the instrument has none.';
COMMENT ON COLUMN daily_status.near_limit IS 'Whether the day may have been at a limit of the boards'' rules: false excludes it, except for limits that the metadata of the day states. A condition on it saves the work for other days.';
COMMENT ON COLUMN daily_status.region IS 'Region: CN, HK or US.';
