-- Days on which the price level of a symbol changes: of all that is known now. It is a view so that the copy for SQL can have
-- its rows.
-- Grain: one row for each symbol and ex-date. Inputs: ex_events_until, stated_events, has_ex_dates.
CREATE OR REPLACE VIEW ex_events AS
FROM query(CASE WHEN has_ex_dates() THEN 'FROM ex_events_until(NULL)' ELSE 'FROM stated_events()' END);

COMMENT ON VIEW ex_events IS 'Days on which the price level changes (dividend, split, rights issue), from factors, corporate actions or the stated previous close. One row for each symbol and ex-date. A row comes or goes where the sessions before it become known later, or where a source says more.';
COMMENT ON COLUMN ex_events.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN ex_events.ex_date IS 'First trading date at the new price level, in the exchange''s own zone; of an ex-date without a bar, that of the next bar.';
COMMENT ON COLUMN ex_events.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN ex_events.prev_close IS 'Previous close as the exchange states it on the ex-date; null where it states none. [currency]';
COMMENT ON COLUMN ex_events.factor IS 'last_close, divided by that close at the new price level. [ratio]';
COMMENT ON COLUMN ex_events.amount IS 'last_close, minus that close at the new price level. [currency]';
COMMENT ON COLUMN ex_events.witness IS 'What shows it: factor, actions or prev_close.';
COMMENT ON COLUMN ex_events.source IS 'Who states the factor or the actions; null for prev_close.';
COMMENT ON COLUMN ex_events.reinvested IS 'Shares that a holder of one share has after it, where cash buys shares at the close of the ex-date. [ratio]';
COMMENT ON COLUMN ex_events.region IS 'Region: CN, HK or US.';
