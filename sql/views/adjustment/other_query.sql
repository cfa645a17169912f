-- The query of bars of minutes and of weeks and longer periods, as a text: the part of adjusted for what neither
-- days_query nor minutes_query has. It is a text of its own so that those are planned without it.
-- Grain: one value for each call. Inputs: raw.bars_1m, raw.bars_1d, unadjusted_bars, priced_bars, price_stretches,
-- adjusted_landed, adjusted_days, adjusted_fault, adjusted.
CREATE OR REPLACE MACRO other_query(period, adjustment) AS
  coalesce(
    format(
      CASE
        WHEN adjustment = 'none' THEN 'WITH priced AS NOT MATERIALIZED (FROM unadjusted_bars({0})) FROM {1}'
        WHEN adjustment IN ('forward', 'backward', 'forward_additive', 'backward_additive') THEN
          'WITH steps AS NOT MATERIALIZED (SELECT symbol, start_date, end_date, {2} AS value FROM price_stretches),
            priced AS NOT MATERIALIZED (FROM priced_bars({0}, ''{2}'', ''steps'')) FROM {1}'
      END,
      CASE WHEN period = '1m' THEN '''raw.bars_1m'', false' WHEN period IN ('1w', '1M', '1Q', '1Y') THEN '''raw.bars_1d'', true' END,
      CASE WHEN period = '1m' THEN 'adjusted_landed(''priced'')' ELSE concat('adjusted_days(''priced'', ''', period, ''')') END,
      adjustment
    ),
    error(adjusted_fault(period, adjustment)),
    'FROM adjusted(NULL, NULL, NULL)'
  );

COMMENT ON MACRO other_query IS 'The query of bars of 1m, and of 1w to 1Y, as a text: a part of adjusted. One value for each call; it fails where the period or the adjustment is unknown.
period: 1m, 1w, 1M, 1Q or 1Y; null: no bars.
adjustment: forward, backward, forward_additive, backward_additive or none.';
