-- Bars of any period with dividends reinvested: prices multiplied by the shares that a holder of one share at the beginning
-- has by then. Cash buys shares at the close of the ex-date, as an index of total returns has it; rights are taken up, and paid
-- for by selling shares at that close. Prices before the first ex-event are as traded.
-- Grain: one row for each symbol and bar. Inputs: priced_bars, price_stretches, price_stretches_until, adjusted_landed,
-- adjusted_minutes, adjusted_days, adjusted_fault.
CREATE OR REPLACE MACRO total_return(period, as_of := NULL) AS TABLE (
  WITH steps AS NOT MATERIALIZED (
    SELECT symbol, start_date, end_date, reinvested AS value FROM price_stretches_until(as_of)
  ),
  landed AS NOT MATERIALIZED (
    FROM priced_bars(CASE period WHEN '1m' THEN 'raw.bars_1m' ELSE 'raw.bars_1d' END, false, 'backward', 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  ),
  minutes AS NOT MATERIALIZED (
    FROM priced_bars('raw.bars_1m', true, 'backward', 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  ),
  days AS NOT MATERIALIZED (
    FROM priced_bars('raw.bars_1d', true, 'backward', 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  )
  FROM adjusted_landed('landed') WHERE period IN ('1m', '1d')
  UNION ALL
  FROM adjusted_minutes('minutes', period) WHERE period IN ('5m', '10m', '15m', '30m', '60m')
  UNION ALL
  FROM adjusted_days('days', period) WHERE period IN ('1w', '1M', '1Q', '1Y')
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  WHERE error(adjusted_fault(period, 'backward'))
);

COMMENT ON MACRO TABLE total_return IS 'Bars of any period with dividends reinvested: close / close of an earlier row - 1 is the total return in between. One row for each symbol and bar. Rows do not change with later ex-events. The columns of adjusted.
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
as_of: Nothing after this date is seen, neither bars nor ex-events; null: everything. [date]';
