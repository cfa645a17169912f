-- The end of the month to which a reporting period belongs. Fiscal years of 52 or 53 weeks end some days before or
-- after it.
-- Grain: one value for each period. Inputs: period_end.
CREATE OR REPLACE MACRO period_month(period_end) AS
  CAST(date_trunc('month', period_end + INTERVAL 10 DAY) - INTERVAL 1 DAY AS DATE);

COMMENT ON MACRO period_month IS 'Month end that a reporting period belongs to: at most 10 days before it, or 20 behind. [date]
period_end: Last day of the reporting period. [date]';
