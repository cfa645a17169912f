-- Key figures of reporting periods, the newest version of each period.
-- Grain: one row for each symbol and reporting period. Inputs: raw.metrics (every version ever seen).
CREATE OR REPLACE VIEW metrics AS
SELECT *
FROM raw.metrics
QUALIFY row_number() OVER (
  PARTITION BY symbol, period_end
  ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST
) = 1;

COMMENT ON VIEW metrics IS 'Key figures of reporting periods, the newest version of each period. One row for each symbol and reporting period. All versions ever seen: raw.metrics.';
COMMENT ON COLUMN metrics.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN metrics.announce_date IS 'Date of publication, where the source states it.';
COMMENT ON COLUMN metrics.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
