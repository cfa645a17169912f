-- Days whose stated previous close differs from the close of the symbol's bar before, by more than a rounding error: a
-- dividend, a split, a rights issue; or the lake lacks the bars in between. has_hole: a session lies between the two bars of
-- which no response said that the symbol has no bar: it was not requested, or its bars were set aside. A suspension is no such
-- hole, because the service was asked. Where the lake has a bar of another source in a stretch without bars of the service, it
-- is no suspension: the service lacks that time. A bar of a day without trades counts; a close of 0 shows nothing.
-- Grain: one row for each symbol and day. Inputs: raw.bars_1d, raw.trading_days, raw.absences_1d, is_ex_event.
CREATE OR REPLACE VIEW restated_closes AS
SELECT
  b.symbol,
  b.trade_date,
  b.last_date,
  b.last_close,
  b.prev_close,
  bool_or(s.trade_date IS NOT NULL AND a.symbol IS NULL) AS has_hole,
  b.region
FROM (
  FROM (
    SELECT symbol, region, trade_date, prev_close, lag(close) OVER bars AS last_close, lag(trade_date) OVER bars AS last_date
    FROM raw.bars_1d
    WINDOW bars AS (PARTITION BY symbol ORDER BY "timestamp")
  )
  WHERE is_ex_event(last_close, prev_close)
) AS b
-- The sessions in between are looked for only where the session before is not that of the bar before.
ASOF LEFT JOIN raw.trading_days AS d ON d.region = b.region AND d.trade_date < b.trade_date
LEFT JOIN raw.trading_days AS s
  ON s.region = CASE WHEN d.trade_date > b.last_date THEN b.region END AND s.trade_date > b.last_date AND s.trade_date < b.trade_date
LEFT JOIN raw.absences_1d AS a
  ON a.symbol = CASE WHEN s.trade_date IS NOT NULL THEN b.symbol END AND s.trade_date BETWEEN a.first_date AND a.last_date
    AND a.first_date > b.last_date AND a.last_date < b.trade_date
GROUP BY b.symbol, b.trade_date, b.last_date, b.last_close, b.prev_close, b.region;

COMMENT ON VIEW restated_closes IS 'Days whose stated previous close differs from the close of the bar before. One row for each symbol and day. A row changes where the sessions between the two bars become known later.';
COMMENT ON COLUMN restated_closes.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN restated_closes.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN restated_closes.last_date IS 'Trading date of the bar before.';
COMMENT ON COLUMN restated_closes.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN restated_closes.prev_close IS 'Previous close as the exchange states it. [currency]';
COMMENT ON COLUMN restated_closes.has_hole IS 'Whether a known session lies between the two bars of which no response said that the symbol has no bar.';
COMMENT ON COLUMN restated_closes.region IS 'Region: CN, HK or US.';
