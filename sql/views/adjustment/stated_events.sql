-- Days on which an exchange restated the previous close: the part of ex_events that needs no source.
-- Grain: one row for each symbol and ex-date. Inputs: restated_closes, is_ex_event.
CREATE OR REPLACE MACRO stated_events() AS TABLE
SELECT symbol, trade_date AS ex_date, last_close, prev_close, last_close / prev_close AS factor, last_close - prev_close AS amount,
  'prev_close' AS witness, NULL::VARCHAR AS source, last_close / prev_close AS reinvested, region
FROM restated_closes
WHERE NOT has_hole AND is_ex_event(last_close, prev_close);

COMMENT ON MACRO TABLE stated_events IS 'Days on which an exchange restated the previous close: ex_events of a lake without corporate actions and factors. One row for each symbol and ex-date. The columns of ex_events.';
