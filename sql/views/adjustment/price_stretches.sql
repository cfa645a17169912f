-- Stretches of days between the ex-events of a symbol, with the value of each adjustment: of all ex-events. It is a view
-- so that the copy for SQL can have its rows.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: ex_events, price_stretches_of.
CREATE OR REPLACE VIEW price_stretches AS
FROM price_stretches_of('ex_events');

COMMENT ON VIEW price_stretches IS 'Stretches of days between the ex-events of a symbol, with the value of each adjustment. One row for each symbol and stretch; a symbol without ex-events has none. Rows change with each new ex-event.';
COMMENT ON COLUMN price_stretches.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN price_stretches.start_date IS 'First day of the stretch.';
COMMENT ON COLUMN price_stretches.end_date IS 'First day after it.';
COMMENT ON COLUMN price_stretches.forward IS 'What a price is divided by. [ratio]';
COMMENT ON COLUMN price_stretches.backward IS 'What a price is multiplied by. [ratio]';
COMMENT ON COLUMN price_stretches.forward_additive IS 'What is added to a price. [currency]';
COMMENT ON COLUMN price_stretches.backward_additive IS 'What is added to a price. [currency]';
COMMENT ON COLUMN price_stretches.reinvested IS 'What a price is multiplied by where dividends are reinvested. [ratio]';
