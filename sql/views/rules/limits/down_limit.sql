-- The limit downwards that belongs to one upwards: it differs on the first day of a listing.
-- Grain: one value for each percentage. Inputs: limit_percent, first_limit.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO down_limit(percent) AS
  CASE
    WHEN percent = 44 THEN 36
    ELSE percent
  END;

COMMENT ON MACRO down_limit IS 'How far a day''s price may fall from the previous close. [percent]
percent: How far it may rise. [percent]';
