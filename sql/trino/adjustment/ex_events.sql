-- Days on which an exchange restated the previous close: a dividend, a split, a rights issue. See
-- sql/views/adjustment/ex_events.sql.
-- Grain: one row for each symbol and ex-date. Inputs: restated_closes, unknown_spans.
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
WHERE NOT has_hole
  AND NOT EXISTS (
    SELECT 1
    FROM unknown_spans AS u
    WHERE u.region = b.region AND is_unknown_stretch(
      greatest(b.last_date, coalesce(u.after_date, b.last_date)), least(b.trade_date, coalesce(u.before_date, b.trade_date)))
  );

COMMENT ON VIEW ex_events IS 'Days on which an exchange restated the previous close: dividends, splits, rights issues. One row for each symbol and ex-date.';
