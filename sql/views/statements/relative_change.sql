-- A change relative to the absolute value before it: for a loss that halves, it is +0.5.
-- Grain: one value for each pair. Inputs: two values in the same unit.
CREATE OR REPLACE MACRO relative_change(now, before) AS
  CASE WHEN before <> 0 THEN (now - before) / abs(before) END;

COMMENT ON MACRO relative_change IS '(now - before) / abs(before); null where it cannot be computed. [ratio]
now: Value.
before: Value that it is compared with; 0 gives null.';
