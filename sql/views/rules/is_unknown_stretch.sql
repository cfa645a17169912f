-- Whether the days between two dates are unknown, if no trading day between them is known: this is so from three weeks
-- on. No two sessions since 1990 were further apart than the 20 days of a holiday in China in 1999.
-- Grain: one value for each pair of dates. Inputs: two dates.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_unknown_stretch(after_date, before_date) AS
  date_diff('day', after_date, before_date) >= 21;

COMMENT ON MACRO is_unknown_stretch IS 'Whether it is unknown on which days between two dates a region traded, where no trading day between them is known.
after_date: Date before the stretch.
before_date: Date after the stretch.';
