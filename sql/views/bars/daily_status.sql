-- Whether and how each instrument could be traded on each session: suspended, at a limit, turnover. A session after an
-- instrument's first bar on which it has no bar counts as suspended, unless the instrument was known to be delisted.
-- The limit is the one in the metadata's snapshot of that day, else the rule of the Chinese exchanges applied to
-- prev_close: by board, kind and date, from the session on from which it applies to a new listing. A special treatment
-- counts where the lake saw the name then. A limit outside of which the day traded was not in force.
-- Grain: one row for each symbol and session. Inputs: raw.bars_1d, raw.trading_days, instrument_versions,
-- limit_percent, limits_from, price_decimals, is_refuted.
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
sessions AS NOT MATERIALIZED (
  SELECT region, trade_date AS session, lead(trade_date, 5) OVER (PARTITION BY region ORDER BY trade_date) AS sixth
  FROM raw.trading_days
),
versions AS NOT MATERIALIZED (
  SELECT v.*, unlimited_sessions(v.symbol, v.type, v.listing_date) AS unlimited,
    limits_from(v.listing_date, unlimited, s.session, s.sixth) AS limited_from,
    CASE WHEN v.known = 'observed' OR v.type = 'etf' THEN v.name END AS known_name
  FROM instrument_versions AS v
  LEFT JOIN sessions AS s ON s.region = v.region AND s.session = v.listing_date
),
known_days AS NOT MATERIALIZED (
  SELECT d.*, v.known, v.total_shares, v.float_shares, v.from_date, v.to_date, v.limit_up, v.limit_down,
    d.trade_date < v.limited_from AS is_new,
    CASE WHEN is_new THEN CASE WHEN d.trade_date = v.listing_date THEN first_limit(d.symbol, v.listing_date, v.unlimited) END
      ELSE limit_percent(d.symbol, d.trade_date, v.type, v.known_name) END AS percent,
    price_decimals(d.symbol, v.type) AS decimals
  FROM days AS d
  ASOF LEFT JOIN versions AS v ON v.symbol = d.symbol AND d.trade_date >= v.from_date
),
ruled AS NOT MATERIALIZED (
  SELECT *,
    known = 'observed' AND from_date = trade_date AND limit_up > 0 AS is_observed,
    -- A division would be of doubles, of which a half of a tick may be less.
    TRY_CAST(prev_close AS DECIMAL(18, 4)) * (100 + percent) * 0.01 AS exact_up,
    TRY_CAST(prev_close AS DECIMAL(18, 4)) * (100 - down_limit(percent)) * 0.01 AS exact_down,
    CAST(CASE decimals WHEN 3 THEN round(exact_up, 3) ELSE round(exact_up, 2) END AS DOUBLE) AS rule_up,
    CAST(CASE decimals WHEN 3 THEN round(exact_down, 3) ELSE round(exact_down, 2) END AS DOUBLE) AS rule_down,
    is_refuted(volume, low, high, rule_up, rule_down) AS is_refuted
  FROM known_days
  WHERE has_bar OR to_date IS NULL OR trade_date < to_date
),
limited AS NOT MATERIALIZED (
  SELECT *,
    CASE WHEN is_observed THEN nullif(limit_up, 100000) WHEN NOT is_refuted THEN rule_up END AS limit_up_price,
    CASE WHEN is_observed THEN nullif(limit_down, 0) WHEN NOT is_refuted THEN rule_down END AS limit_down_price
  FROM ruled
)
SELECT
  symbol,
  trade_date,
  has_bar,
  volume = 0 AS suspended,
  limit_up_price,
  limit_down_price,
  CASE WHEN is_observed THEN 'observed' WHEN is_refuted THEN 'refuted' WHEN rule_up IS NOT NULL THEN 'rule'
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

COMMENT ON VIEW daily_status IS 'Whether and how each instrument could be traded on each session. One row for each symbol and session since its first bar. A row comes late, or changes, where a bar or the first snapshot of the metadata comes later.';
COMMENT ON COLUMN daily_status.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN daily_status.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_status.has_bar IS 'Whether a bar was delivered: a suspended day may have one, or none.';
COMMENT ON COLUMN daily_status.suspended IS 'Nothing traded on the session.';
COMMENT ON COLUMN daily_status.limit_up_price IS 'Highest price permitted that day; null where there is no limit, or none is known. [currency]';
COMMENT ON COLUMN daily_status.limit_down_price IS 'Lowest price permitted that day. [currency]';
COMMENT ON COLUMN daily_status.limit_source IS 'observed: stated by the metadata of that day; rule: prev_close x (1 +/- limit_percent), rounded half up to the tick; refuted: the day traded outside of the rule''s limits, so that these were not in force, and none is known; new: the first sessions of a listing, without a limit; null: there is no rule, or no previous close.';
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
