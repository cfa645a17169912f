-- The query of bars of 5 to 60 minutes, as a text: the part of adjusted for these periods, as far as it depends on where
-- the minutes are. Where a session reads a copy for SQL, it has another query there, which reads the copied bars.
-- Grain: one value for each call. Inputs: raw.bars_1m, unadjusted_bars, priced_bars, price_stretches,
-- adjusted_minutes.
CREATE OR REPLACE MACRO minutes_query(period, adjustment) AS
  format(
    CASE
      WHEN adjustment = 'none' OR adjustment IS NULL THEN
        'WITH priced AS NOT MATERIALIZED (FROM unadjusted_bars(''raw.bars_1m'', true)) FROM adjusted_minutes(''priced'', ''{0}'')'
      WHEN adjustment IN ('forward', 'backward', 'forward_additive', 'backward_additive') THEN
        'WITH steps AS NOT MATERIALIZED (SELECT symbol, start_date, end_date, {1} AS value FROM price_stretches),
          priced AS NOT MATERIALIZED (FROM priced_bars(''raw.bars_1m'', true, ''{1}'', ''steps'')) FROM adjusted_minutes(''priced'', ''{0}'')'
    END,
    period,
    coalesce(adjustment, 'none')
  );

COMMENT ON MACRO minutes_query IS 'The query of bars of several minutes, as a text: the part of adjusted for 5m to 60m. One value for each call; null where the adjustment is unknown.
period: 5m, 10m, 15m, 30m or 60m.
adjustment: forward, backward, forward_additive, backward_additive or none.';
