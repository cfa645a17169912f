-- The query of daily bars, as a text: the part of adjusted for 1d, as far as it depends on where the bars are. Where a
-- session reads a copy for SQL, it has another query there: the copied bars have the values that they are adjusted by.
-- Grain: one value for each call. Inputs: raw.bars_1d, unadjusted_bars, priced_bars, price_stretches, adjusted_landed.
CREATE OR REPLACE MACRO days_query(adjustment) AS
  CASE
    WHEN adjustment = 'none' OR adjustment IS NULL THEN
      'WITH priced AS NOT MATERIALIZED (FROM unadjusted_bars(''raw.bars_1d'', false)) FROM adjusted_landed(''priced'')'
    WHEN adjustment IN ('forward', 'backward', 'forward_additive', 'backward_additive') THEN
      format(
        'WITH steps AS NOT MATERIALIZED (SELECT symbol, start_date, end_date, {0} AS value FROM price_stretches),
          priced AS NOT MATERIALIZED (FROM priced_bars(''raw.bars_1d'', false, ''{0}'', ''steps'')) FROM adjusted_landed(''priced'')',
        adjustment
      )
  END;

COMMENT ON MACRO days_query IS 'The query of daily bars, as a text: the part of adjusted for 1d. One value for each call; null where the adjustment is unknown.
adjustment: forward, backward, forward_additive, backward_additive or none.';
