-- The first date on which the limit of a board applies to an instrument. In the days before, other rules apply.
-- Grain: one value for each instrument. Inputs: listing date.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO limits_from(listing_date) AS
  listing_date + 10;

COMMENT ON MACRO limits_from IS 'The first date on which the limit of a board applies to an instrument. [date]
listing_date: Date of the listing. [date]';
