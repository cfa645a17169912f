-- Sessions, and minutes within sessions, that are missing between a symbol's first bar and its last. See
-- sql/views/quality/quality_gaps.sql.
-- Grain: one row for each table, symbol and unbroken stretch of days with the same gap. Inputs: raw.bars_1d,
-- raw.bars_1m, raw.trading_days.
CREATE OR REPLACE VIEW quality_gaps AS
WITH sessions AS (
  SELECT region, trade_date, row_number() OVER (PARTITION BY region ORDER BY trade_date) AS nth
  FROM raw.trading_days
),
days AS (
  SELECT 'bars_1d' AS dataset, symbol, region, trade_date, BIGINT '0' AS missing_minutes
  FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, region, trade_date,
    CASE WHEN region IN ('CN', 'HK')
      THEN greatest(0, session_minutes(region) - count(*) FILTER (WHERE is_session_minute(region, local_time))) ELSE 0 END
  FROM (
    -- The offset of both exchanges from UTC has been eight hours for as long as they have had minute bars.
    SELECT symbol, region, trade_date, CAST(("timestamp" AT TIME ZONE 'UTC') + INTERVAL '8' HOUR AS TIME(3)) AS local_time
    FROM raw.bars_1m
  )
  GROUP BY symbol, region, trade_date
),
absent AS (
  SELECT spans.dataset, spans.symbol, spans.region, sessions.trade_date, sessions.nth
  FROM (
    SELECT dataset, symbol, region, min(trade_date) AS first_date, max(trade_date) AS last_date
    FROM days
    GROUP BY dataset, symbol, region
  ) AS spans
  JOIN sessions
    ON sessions.region = spans.region AND sessions.trade_date > spans.first_date AND sessions.trade_date < spans.last_date
  LEFT JOIN (SELECT DISTINCT dataset, symbol, trade_date FROM days) AS present
    ON present.dataset = spans.dataset AND present.symbol = spans.symbol AND present.trade_date = sessions.trade_date
  WHERE present.symbol IS NULL
),
faults AS (
  SELECT dataset, symbol, region, 'session' AS kind, trade_date, nth, BIGINT '0' AS missing_minutes
  FROM absent
  UNION ALL
  SELECT days.dataset, days.symbol, days.region, 'minutes', days.trade_date,
    coalesce(sessions.nth, date_diff('day', DATE '1970-01-01', days.trade_date)), days.missing_minutes
  FROM days
  LEFT JOIN sessions ON sessions.region = days.region AND sessions.trade_date = days.trade_date
  WHERE days.missing_minutes > 0
)
SELECT dataset, symbol, kind, min(trade_date) AS first_date, max(trade_date) AS last_date, count(*) AS sessions,
  sum(missing_minutes) AS missing_minutes, region
FROM (
  SELECT *, nth - row_number() OVER (PARTITION BY dataset, symbol, kind ORDER BY nth) AS stretch
  FROM faults
)
GROUP BY dataset, symbol, kind, stretch, region;

COMMENT ON VIEW quality_gaps IS 'Sessions, and minutes within sessions, that are missing between a symbol''s first bar and its last. One row for each table, symbol and unbroken stretch of like days.';
