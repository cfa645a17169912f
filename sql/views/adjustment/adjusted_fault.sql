-- Why adjusted cannot have a period or an adjustment.
-- Grain: one value for each call. Inputs: the parameters of adjusted.
CREATE OR REPLACE MACRO adjusted_fault(period, adjustment) AS
  CASE
    WHEN period NOT IN ('1m', '5m', '10m', '15m', '30m', '60m', '1d', '1w', '1M', '1Q', '1Y')
      THEN format('period "{}" is none of 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q, 1Y', period)
    WHEN adjustment NOT IN ('forward', 'backward', 'forward_additive', 'backward_additive', 'none')
      THEN format('adjustment "{}" is none of forward, backward, forward_additive, backward_additive, none', adjustment)
  END;

COMMENT ON MACRO adjusted_fault IS 'Why adjusted cannot have a period or an adjustment; null: it can.
period: As in adjusted.
adjustment: As in adjusted.';
