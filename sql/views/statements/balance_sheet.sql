-- Balance sheets, the newest version of each period.
-- Grain: one row for each symbol and reporting period. Inputs: raw.balance_sheet (every version ever seen).
CREATE OR REPLACE VIEW balance_sheet AS
SELECT *
FROM raw.balance_sheet
QUALIFY row_number() OVER (
  PARTITION BY symbol, period_end
  ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST
) = 1;

COMMENT ON VIEW balance_sheet IS 'Balance sheets, the newest version of each period. One row for each symbol and reporting period. All versions ever seen: raw.balance_sheet.';
COMMENT ON COLUMN balance_sheet.period_end IS 'Last day of the reporting period.';
COMMENT ON COLUMN balance_sheet.announce_date IS 'Date of publication, where the source states it.';
COMMENT ON COLUMN balance_sheet.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
