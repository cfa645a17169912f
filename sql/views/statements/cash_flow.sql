-- Cash flow statements, the newest version of each period.
-- Grain: one row for each symbol and reporting period. Inputs: raw.cash_flow (every version ever seen).
CREATE OR REPLACE VIEW cash_flow AS
SELECT *
FROM raw.cash_flow
QUALIFY row_number() OVER (
  PARTITION BY symbol, period_end
  ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST
) = 1;

COMMENT ON VIEW cash_flow IS 'Cash flow statements, the newest version of each period. One row for each symbol and reporting period. All versions ever seen: raw.cash_flow.';
COMMENT ON COLUMN cash_flow.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN cash_flow.announce_date IS 'Date of publication, where the source states it.';
COMMENT ON COLUMN cash_flow.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
