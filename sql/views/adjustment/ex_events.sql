-- Days on which an exchange restated the previous close: a dividend, a split, a rights issue. The bar of such a day has
-- a prev_close that differs from the close of the bar before by more than a rounding error. There is no event where the
-- bar before may not be that of the previous session: over a hole (restated_closes), and over three weeks or more of which
-- the calendar knows nothing (unknown_spans). The audit unvouched_closes names these days.
-- Grain: one row for each symbol and ex-date. Inputs: restated_closes, unknown_spans, is_unknown_stretch.
CREATE OR REPLACE VIEW ex_events AS
SELECT
  symbol,
  trade_date AS ex_date,
  last_close,
  prev_close,
  last_close / prev_close AS factor,
  last_close - prev_close AS amount,
  region
FROM restated_closes AS b
ANTI JOIN unknown_spans AS u ON u.region = b.region AND is_unknown_stretch(
  greatest(b.last_date, coalesce(u.after_date, b.last_date)), least(b.trade_date, coalesce(u.before_date, b.trade_date)))
WHERE NOT has_hole;

COMMENT ON VIEW ex_events IS 'Days on which the exchange restated the previous close (dividend, split, rights issue), derived from prev_close. One row for each symbol and ex-date. A row comes or goes where the sessions before it become known later.';
COMMENT ON COLUMN ex_events.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN ex_events.ex_date IS 'First trading date at the new price level, in the exchange''s own zone.';
COMMENT ON COLUMN ex_events.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN ex_events.prev_close IS 'Previous close as the exchange states it on the ex-date. [currency]';
COMMENT ON COLUMN ex_events.factor IS 'last_close / prev_close. [ratio]';
COMMENT ON COLUMN ex_events.amount IS 'last_close - prev_close. [currency]';
COMMENT ON COLUMN ex_events.region IS 'Region: CN, HK or US.';
