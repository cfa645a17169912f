-- The versions of a table of statements that were the newest known ones at some time, with the dates between which they
-- were. Of the statements known on a day, the newest is the one with the greatest period_end, in the version that
-- counts by then: see known_versions. A late restatement of an old quarter therefore never replaces a newer quarter.
-- Grain: one row for each symbol and date from which another version was the newest known one. Inputs: the named table,
-- known_versions.
CREATE OR REPLACE MACRO known_statements(statements) AS TABLE
SELECT *, coalesce(lead(known_from) OVER (PARTITION BY symbol ORDER BY known_from), DATE '9999-12-31') AS known_to
FROM (
  SELECT *
  FROM known_versions(statements)
  WINDOW known AS (
    PARTITION BY symbol ORDER BY known_from, period_end, first_seen_at, announce_date NULLS FIRST ROWS UNBOUNDED PRECEDING)
  QUALIFY period_end = max(period_end) OVER known AND lead(known_from) OVER known IS DISTINCT FROM known_from
);

COMMENT ON MACRO TABLE known_statements IS 'The versions of a table of statements that were the newest known at some time: known_statements(''raw.income''). One row for each symbol and date from which another version was the newest known. All columns of the table, with two dates. A row may get another known_to when a later version arrives.
statements: raw.balance_sheet, raw.cash_flow, raw.income, raw.metrics or raw.shares, as a text.
-> known_from: First day on which the version was the newest known: see known_versions.
-> known_to: First day on which another one was; 9999-12-31 where none was yet.';
