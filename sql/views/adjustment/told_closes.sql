-- Daily bars with the close of the symbol's bar before, and whether a source has an ex-date after that bar, up to the day itself.
-- Grain: one row for each symbol and day, or several where several ex-dates lie between two bars. Inputs: last_closes, ex_dates.
CREATE OR REPLACE VIEW told_closes AS
SELECT c.symbol, c.trade_date, c.close, c.prev_close, c.last_date, c.last_close,
  c.last_close > 0 AND (t.symbol IS NOT NULL OR g.symbol IS NOT NULL) AS is_told,
  c.region
FROM last_closes AS c
LEFT JOIN ex_dates AS t ON t.symbol = c.symbol AND t.on_date = c.trade_date AND t.ex_date > c.last_date
-- Nearly all ex-dates have a bar: others are looked for only after a gap that is no weekend.
LEFT JOIN ex_dates AS g
  ON g.symbol = CASE WHEN c.trade_date - c.last_date > CASE WHEN isodow(c.trade_date) = 1 THEN 3 ELSE 1 END THEN c.symbol END
    AND g.ex_date > c.last_date AND g.ex_date < c.trade_date;

COMMENT ON VIEW told_closes IS 'Daily bars with the close of the bar before, and whether a source has an ex-date: a part of restated_closes. One row for each symbol and day, or several where several ex-dates lie between two bars.';
COMMENT ON COLUMN told_closes.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN told_closes.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN told_closes.close IS 'Close of the day. [currency]';
COMMENT ON COLUMN told_closes.prev_close IS 'Previous close as the exchange states it; null where it states none. [currency]';
COMMENT ON COLUMN told_closes.last_date IS 'Trading date of the bar before; null for the first bar.';
COMMENT ON COLUMN told_closes.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN told_closes.is_told IS 'Whether a source has an ex-date after the bar before, up to this day.';
COMMENT ON COLUMN told_closes.region IS 'Region: CN, HK or US.';
