-- Income statements, the newest version of each period.
-- Grain: one row for each symbol and reporting period. Inputs: raw.income (every version ever seen).
CREATE OR REPLACE VIEW income AS
SELECT *
FROM raw.income
QUALIFY row_number() OVER (
  PARTITION BY symbol, period_end
  ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST
) = 1;

COMMENT ON VIEW income IS 'Income statements, the newest version of each period. One row for each symbol and reporting period. All versions ever seen: raw.income.';
COMMENT ON COLUMN income.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN income.announce_date IS 'Date of publication, where the source states it.';
COMMENT ON COLUMN income.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
