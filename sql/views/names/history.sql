-- Bars of any period and adjustment of one name, through its renames.
-- Grain: one row for each bar. Inputs: histories.
CREATE OR REPLACE MACRO history(name, period, adjustment, as_of := NULL) AS TABLE
FROM histories([name], period, adjustment, as_of := as_of);

COMMENT ON MACRO TABLE history IS 'Bars of any period and adjustment of one name, through its renames: history(''META.US'', ''1w'', ''forward''). One row for each bar. The columns of adjusted.
name: Symbol that is asked for, of today or of an earlier time.
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Date in the exchange''s own zone: nothing after it is seen, neither bars nor ex-events nor changes of names; null: everything. [date]';
