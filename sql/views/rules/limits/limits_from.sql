-- The first date on which the limit of a board applies to an instrument, counted in sessions. In the days before, other
-- rules apply. Where the calendar does not know the day of the listing, five sessions are taken to be over after 21 days.
-- Grain: one value for each instrument. Inputs: unlimited_sessions, the calendar.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO limits_from(listing_date, sessions, listed_session, sixth_session) AS
  CASE
    WHEN sessions <= 1 THEN listing_date + CAST(sessions AS INTEGER)
    WHEN listed_session IS NULL THEN listing_date + 21
    ELSE coalesce(sixth_session, DATE '9999-12-31')
  END;

COMMENT ON MACRO limits_from IS 'The first date on which the limit of a board applies to an instrument. [date]
listing_date: Date of the listing. [date]
sessions: Sessions to which the limit does not apply.
listed_session: The session on the listing date; null: the calendar does not know it. [date]
sixth_session: The fifth session after it; null: it has not been yet. [date]';
