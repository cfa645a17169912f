-- Bars of any period and adjustment of the one history of each name: as adjusted, over the bars of all symbols that the
-- name had. A week over a rename is one bar, and adjusted prices chain over it.
-- Grain: one row for each name and bar. Inputs: named_rows, raw.bars_1m, raw.bars_1d, name_events, price_stretches_of,
-- priced_bars, adjusted_landed, adjusted_minutes, adjusted_days, adjusted_fault.
CREATE OR REPLACE MACRO histories(names, period, adjustment, as_of := NULL, events := 'own_events') AS TABLE
WITH events_of_names AS NOT MATERIALIZED (FROM name_events(names, as_of := as_of, events := events)),
steps AS MATERIALIZED (
  SELECT symbol, start_date, end_date,
    CASE adjustment
      WHEN 'forward' THEN forward
      WHEN 'backward' THEN backward
      WHEN 'forward_additive' THEN forward_additive
      WHEN 'backward_additive' THEN backward_additive
    END AS value
  FROM price_stretches_of('events_of_names')
  WHERE adjustment <> 'none'
),
named_days AS NOT MATERIALIZED (FROM named_rows('raw.bars_1d', names, as_of := as_of)),
named_minutes AS NOT MATERIALIZED (FROM named_rows('raw.bars_1m', names, as_of := as_of)),
landed_days AS NOT MATERIALIZED (FROM priced_bars('named_days', false, adjustment, 'steps')),
landed_minutes AS NOT MATERIALIZED (FROM priced_bars('named_minutes', false, adjustment, 'steps')),
days AS NOT MATERIALIZED (FROM priced_bars('named_days', true, adjustment, 'steps')),
minutes AS NOT MATERIALIZED (FROM priced_bars('named_minutes', true, adjustment, 'steps'))
FROM adjusted_landed('landed_days') WHERE period = '1d'
UNION ALL
FROM adjusted_landed('landed_minutes') WHERE period = '1m'
UNION ALL
FROM adjusted_minutes('minutes', period) WHERE period IN ('5m', '10m', '15m', '30m', '60m')
UNION ALL
FROM adjusted_days('days', period) WHERE period IN ('1w', '1M', '1Q', '1Y')
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
WHERE error(adjusted_fault(period, adjustment));

COMMENT ON MACRO TABLE histories IS 'Bars of any period and adjustment under the names that are asked for, each one history through its renames, and cut where its code was given to another company. One row for each name and bar. The columns of adjusted.
names: Symbols that are asked for. [list]
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Date in the exchange''s own zone: nothing after it is seen, neither bars nor ex-events nor changes of names; null: everything. [date]
events: Name of a relation with the rows of ex_events, of all stored symbols of the names. Where the lake has many symbols, it is quicker with a list of these that is written out: symbol IN (''FB.US'', ''META.US'').';
