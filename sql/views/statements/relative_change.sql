-- A change relative to the size of what it started from: of a loss that halves, +0.5.
-- Grain: one value a pair. Inputs: two values of one unit.
CREATE OR REPLACE MACRO relative_change(now, before) AS
  CASE WHEN before <> 0 THEN (now - before) / abs(before) END;

COMMENT ON MACRO relative_change IS '(now - before) / abs(before); null where it cannot be computed. [ratio]
now: Value.
before: Value that it is compared with; 0 gives null.';
