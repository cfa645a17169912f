-- Days on which the price level of a symbol changes, or seems to: a source has an ex-date after the bar before (ex_dates), or
-- the stated previous close differs from the close of the bar before by more than a rounding error: a dividend, a split, a
-- rights issue; or the lake lacks the bars in between. has_hole: a session lies between the two bars of which no response said
-- that the symbol has no bar: it was not requested, or its bars were set aside; or the calendar knows nothing of three weeks or
-- more between them (unknown_spans). A suspension is no such hole, because the service was asked. Where the lake has a bar of
-- another source in a stretch without bars of the service, it is no suspension: the service lacks that time. A bar of a day
-- without trades counts; a close of 0 shows nothing. What follows for the price is the matter of ex_events.
-- Grain: one row for each symbol and day. Inputs: told_closes, last_closes, has_ex_dates, raw.trading_days, raw.absences_1d,
-- unknown_spans, is_ex_event, is_unknown_stretch.
CREATE OR REPLACE VIEW restated_closes AS
SELECT
  b.symbol,
  b.trade_date,
  b.last_date,
  b.last_close,
  b.close,
  b.prev_close,
  bool_or(u.region IS NOT NULL OR (s.trade_date IS NOT NULL AND a.symbol IS NULL)) AS has_hole,
  bool_or(s.trade_date IS NOT NULL) AS has_session,
  b.region
FROM (
  FROM query(CASE WHEN has_ex_dates() THEN 'FROM told_closes' ELSE 'FROM last_closes' END)
  WHERE is_told OR is_ex_event(last_close, prev_close)
) AS b
LEFT JOIN unknown_spans AS u ON u.region = b.region AND is_unknown_stretch(
  greatest(b.last_date, coalesce(u.after_date, b.last_date)), least(b.trade_date, coalesce(u.before_date, b.trade_date)))
-- The sessions in between are looked for only where the session before is not that of the bar before.
ASOF LEFT JOIN raw.trading_days AS d ON d.region = b.region AND d.trade_date < b.trade_date
LEFT JOIN raw.trading_days AS s
  ON s.region = CASE WHEN d.trade_date > b.last_date THEN b.region END AND s.trade_date > b.last_date AND s.trade_date < b.trade_date
LEFT JOIN raw.absences_1d AS a
  ON a.symbol = CASE WHEN s.trade_date IS NOT NULL THEN b.symbol END AND s.trade_date BETWEEN a.first_date AND a.last_date
    AND a.first_date > b.last_date AND a.last_date < b.trade_date
GROUP BY b.symbol, b.trade_date, b.last_date, b.last_close, b.close, b.prev_close, b.region;

COMMENT ON VIEW restated_closes IS 'Days on which the price level changes, or seems to: a source has an ex-date, or the stated previous close differs from the close of the bar before. One row for each symbol and day. A row changes where the sessions between the two bars become known later, and comes with an action of its day.';
COMMENT ON COLUMN restated_closes.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN restated_closes.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN restated_closes.last_date IS 'Trading date of the bar before.';
COMMENT ON COLUMN restated_closes.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN restated_closes.close IS 'Close of the day. [currency]';
COMMENT ON COLUMN restated_closes.prev_close IS 'Previous close as the exchange states it; null where it states none. [currency]';
COMMENT ON COLUMN restated_closes.has_hole IS 'Whether a session may lie between the two bars of which no response said that the symbol has no bar.';
COMMENT ON COLUMN restated_closes.has_session IS 'Whether the calendar has a session between the two bars.';
COMMENT ON COLUMN restated_closes.region IS 'Region: CN, HK or US.';
