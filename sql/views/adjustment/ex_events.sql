-- Days on which an exchange restated the previous close: a dividend, a split, a rights issue. The bar of such a day has
-- a prev_close that differs from the close of the bar before by more than a rounding error. A bar of a day without
-- trades counts, too. A close of 0 shows nothing, and neither does a close before a gap in the lake's history: if three
-- weeks between the two bars are unknown to the calendar (unknown_spans), the bar before may not be that of the
-- previous session. A suspension is no such gap, because the calendar knows the sessions in between.
-- Grain: one row for each symbol and ex-date. Inputs: raw.bars_1d, unknown_spans, is_ex_event, is_unknown_stretch.
CREATE OR REPLACE VIEW ex_events AS
SELECT
  symbol,
  trade_date AS ex_date,
  last_close,
  prev_close,
  last_close / prev_close AS factor,
  last_close - prev_close AS amount,
  region
FROM (
  SELECT symbol, trade_date, prev_close, region, lag(close) OVER bars AS last_close, lag(trade_date) OVER bars AS last_date
  FROM raw.bars_1d
  WINDOW bars AS (PARTITION BY symbol ORDER BY "timestamp")
) AS b
ANTI JOIN unknown_spans AS u ON u.region = b.region AND is_unknown_stretch(
  greatest(b.last_date, coalesce(u.after_date, b.last_date)), least(b.trade_date, coalesce(u.before_date, b.trade_date)))
WHERE is_ex_event(last_close, prev_close);

COMMENT ON VIEW ex_events IS 'Days on which the exchange restated the previous close (dividend, split, rights issue), derived from prev_close. One row for each symbol and ex-date. A row comes or goes where the sessions before it become known later.';
COMMENT ON COLUMN ex_events.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN ex_events.ex_date IS 'First trading date at the new price level, in the exchange''s own zone.';
COMMENT ON COLUMN ex_events.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN ex_events.prev_close IS 'Previous close as the exchange states it on the ex-date. [currency]';
COMMENT ON COLUMN ex_events.factor IS 'last_close / prev_close. [ratio]';
COMMENT ON COLUMN ex_events.amount IS 'last_close - prev_close. [currency]';
COMMENT ON COLUMN ex_events.region IS 'Region: CN, HK or US.';
