-- Days whose return is extremely large compared with the 60 bars before: more than 8 times their mean absolute log
-- return, and more than 15 percent. Reasons are a split that the source does not state, or a wrong price.
-- Grain: one row for each symbol and trading date. Inputs: returns. Only earlier bars are used.
CREATE OR REPLACE VIEW quality_outliers AS
SELECT symbol, trade_date, base, close, simple_return, usual_return, abs(log_return) / usual_return AS times, region
FROM (
  SELECT *,
    -- A sum of whole numbers is used, because a sum of binary fractions would depend on the order in which the engine
    -- adds them.
    sum(CAST(round(abs(log_return) * 1e12) AS BIGINT)) OVER before / 1e12 / count(log_return) OVER before AS usual_return,
    count(log_return) OVER before AS bars_before
  FROM returns
  WINDOW before AS (PARTITION BY symbol ORDER BY trade_date ROWS BETWEEN 60 PRECEDING AND 1 PRECEDING)
)
WHERE bars_before >= 20 AND abs(simple_return) > 0.15 AND abs(log_return) > 8 * usual_return;

COMMENT ON VIEW quality_outliers IS 'Days whose return is out of all proportion to the 60 bars before. One row for each symbol and trading date.';
COMMENT ON COLUMN quality_outliers.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_outliers.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN quality_outliers.base IS 'What the return is measured from: prev_close, else the last close. [currency]';
COMMENT ON COLUMN quality_outliers.close IS 'Last price, unadjusted. [currency]';
COMMENT ON COLUMN quality_outliers.simple_return IS 'close / base - 1. [ratio]';
COMMENT ON COLUMN quality_outliers.usual_return IS 'Mean absolute log return of the 60 bars before. [log ratio]';
COMMENT ON COLUMN quality_outliers.times IS 'abs(log return) / usual_return. [ratio]';
COMMENT ON COLUMN quality_outliers.region IS 'Region: CN, HK or US.';
