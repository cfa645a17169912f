-- Bars of any period and adjustment, as the service returns them: first adjusted, then aggregated. Minutes aggregate
-- within the parts of the session (session_grid_end), days by calendar week, month, quarter and year. With as_of, later
-- bars and ex-events are ignored, so that forward prices are those of that day's charts. Without as_of, only the part
-- for the period and the adjustment is planned, which takes a third of the time: query() makes its text from the
-- constants and parameters of the call. With as_of this is not possible, because an as_of may be a subquery, which has
-- no text.
-- Grain: one row for each symbol and bar. Inputs: raw.bars_1m, raw.bars_1d, unadjusted_bars, priced_bars,
-- price_stretches, adjustment_steps, days_query, minutes_query, other_query, adjusted_landed, adjusted_minutes, adjusted_days,
-- adjusted_fault.
-- Conditions on symbol reach the files for every period; those on trade_date only for minutes and days, because weeks
-- and longer periods are first aggregated from whole spans.
CREATE OR REPLACE MACRO adjusted(period, adjustment) AS TABLE (
  FROM query(
    coalesce(
      CASE
        WHEN period = '1d' THEN days_query(adjustment)
        WHEN period IN ('5m', '10m', '15m', '30m', '60m') THEN minutes_query(period, adjustment)
      END,
      format(
        'FROM query(other_query({}, ''{}''))',
        coalesce('''' || replace(period, '''', '''''') || '''', 'NULL'),
        replace(coalesce(adjustment, 'none'), '''', '''''')
      )
    )
  )
), (period, adjustment, as_of) AS TABLE (
  WITH steps AS NOT MATERIALIZED (FROM adjustment_steps(adjustment, as_of := as_of)),
  landed AS NOT MATERIALIZED (
    FROM priced_bars(CASE period WHEN '1m' THEN 'raw.bars_1m' ELSE 'raw.bars_1d' END, false, adjustment, 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  ),
  minutes AS NOT MATERIALIZED (
    FROM priced_bars('raw.bars_1m', true, adjustment, 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  ),
  days AS NOT MATERIALIZED (
    FROM priced_bars('raw.bars_1d', true, adjustment, 'steps')
    WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  )
  FROM adjusted_landed('landed') WHERE period IN ('1m', '1d')
  UNION ALL
  FROM adjusted_minutes('minutes', period) WHERE period IN ('5m', '10m', '15m', '30m', '60m')
  UNION ALL
  FROM adjusted_days('days', period) WHERE period IN ('1w', '1M', '1Q', '1Y')
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  WHERE error(adjusted_fault(period, adjustment))
);

COMMENT ON MACRO TABLE adjusted IS 'Bars of any period and adjustment, as the service returns them. One row for each symbol and bar. A row may change when later data arrives: forward prices with each new ex-event (not with as_of), the newest bar of a period while it runs.
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Nothing after this date is seen, neither bars nor ex-events; null: everything. [date]
-> symbol: Instrument symbol.
-> trade_date: Trading date in the exchange''s own zone; of weeks and longer, the last one in them.
-> timestamp: End of the minutes; of days, midnight of the trading date in the exchange''s zone; of weeks and longer, of their last trading date. [UTC]
-> open: First price. [currency]
-> high: Highest price. [currency]
-> low: Lowest price. [currency]
-> close: Last price. [currency]
-> volume: Traded volume in the region''s unit, rounded half up, not adjusted. [lot shares]
-> amount: Traded amount, not adjusted; 0 with a volume above 0: the source reports none. [currency]
-> prev_close: Previous close as the exchange states it, of the first bar. [currency]
-> open_interest: Open contracts at the end (futures). [contracts]
-> settlement_price: Settlement price at the end (futures). [currency]
-> lot: Shares in one unit of volume: 100 in CN, else 1. [shares]
-> shares: Traded volume, not adjusted. [shares]
-> landed_bars: How many landed bars it is made of. [bars]
-> is_final: False while one of them may still change.
-> region: Region: CN, HK or US.';
