-- Whether the exchange restated the previous close: it differs from the close of the bar before by more than a rounding
-- error.
-- Grain: one value for each bar. Inputs: last_close, prev_close.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_ex_event(last_close, prev_close) AS
  prev_close > 0 AND isfinite(prev_close) AND last_close > 0 AND isfinite(last_close / prev_close) AND abs(last_close / prev_close - 1) >= 1e-9;

COMMENT ON MACRO is_ex_event IS 'Whether a day is an ex-date: the stated previous close differs from the close of the bar before.
last_close: Close of the bar before; null or 0: there is none. [currency]
prev_close: Previous close as the exchange states it. [currency]';
