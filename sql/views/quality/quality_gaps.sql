-- Sessions, and minutes within sessions, that are missing between a symbol's first bar and its last. Daily bars:
-- sessions without a bar, because of a suspension or a fault of the source. Minute bars: sessions without any bar and,
-- in CN and HK, whose feeds also contain minutes without trades, days with fewer minutes than the session has.
-- Grain: one row for each table, symbol and unbroken stretch of days with the same gap. Inputs: raw.bars_1d,
-- raw.bars_1m, raw.trading_days.
CREATE OR REPLACE VIEW quality_gaps AS
WITH sessions AS NOT MATERIALIZED (
  SELECT region, trade_date, row_number() OVER (PARTITION BY region ORDER BY trade_date) AS nth
  FROM raw.trading_days
),
days AS NOT MATERIALIZED (
  SELECT 'bars_1d' AS dataset, symbol, region, trade_date, 0 AS missing_minutes
  FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, region, trade_date,
    CASE WHEN region IN ('CN', 'HK')
      THEN greatest(0, session_minutes(region) - count(*) FILTER (is_session_minute(region, local_time))) ELSE 0 END
  FROM (
    -- The offset of both exchanges from UTC has been eight hours for as long as they have had minute bars.
    SELECT symbol, region, trade_date, CAST(timezone('UTC', "timestamp") + INTERVAL 8 HOUR AS TIME) AS local_time
    FROM raw.bars_1m
  )
  GROUP BY symbol, region, trade_date
),
absent AS NOT MATERIALIZED (
  SELECT spans.dataset, spans.symbol, spans.region, sessions.trade_date, sessions.nth
  FROM (
    SELECT dataset, symbol, region, min(trade_date) AS first_date, max(trade_date) AS last_date
    FROM days
    GROUP BY ALL
  ) AS spans
  JOIN sessions ON sessions.region = spans.region AND sessions.trade_date > first_date AND sessions.trade_date < last_date
  ANTI JOIN days ON days.dataset = spans.dataset AND days.symbol = spans.symbol AND days.trade_date = sessions.trade_date
),
faults AS NOT MATERIALIZED (
  SELECT dataset, symbol, region, 'session' AS kind, trade_date, nth, 0 AS missing_minutes
  FROM absent
  UNION ALL
  SELECT dataset, symbol, region, 'minutes', trade_date, coalesce(nth, epoch(trade_date) // 86400), missing_minutes
  FROM days LEFT JOIN sessions USING (region, trade_date)
  WHERE missing_minutes > 0
)
SELECT dataset, symbol, kind, min(trade_date) AS first_date, max(trade_date) AS last_date, count(*) AS sessions,
  CAST(sum(missing_minutes) AS BIGINT) AS missing_minutes, region
FROM (
  SELECT *, nth - row_number() OVER (PARTITION BY dataset, symbol, kind ORDER BY nth) AS stretch
  FROM faults
)
GROUP BY dataset, symbol, kind, stretch, region;

COMMENT ON VIEW quality_gaps IS 'Sessions, and minutes within sessions, that are missing between a symbol''s first bar and its last. One row for each table, symbol and unbroken stretch of like days. Rows change with each new bar.';
COMMENT ON COLUMN quality_gaps.dataset IS 'Table of the bar: bars_1d or bars_1m.';
COMMENT ON COLUMN quality_gaps.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_gaps.kind IS 'session: no bar at all; minutes: fewer than the session has (CN, HK).';
COMMENT ON COLUMN quality_gaps.first_date IS 'First day of the stretch.';
COMMENT ON COLUMN quality_gaps.last_date IS 'Last day of the stretch.';
COMMENT ON COLUMN quality_gaps.sessions IS 'Days of the stretch. [sessions]';
COMMENT ON COLUMN quality_gaps.missing_minutes IS 'Minutes of the session without a bar, in all of the stretch; 0 where whole sessions are missing. [minutes]';
COMMENT ON COLUMN quality_gaps.region IS 'Region: CN, HK or US.';
