-- The versions of corporate actions, with the dates between which each was the known one. See
-- sql/views/actions/corporate_action_versions.sql.
-- Grain: one row for each version. Inputs: raw.corporate_actions.
CREATE OR REPLACE VIEW corporate_action_versions AS
SELECT symbol, ex_date, kind, source, first_seen_at, cash, ratio, price, currency, announce_date, record_date, pay_date,
  region, known_from,
  coalesce(lead(known_from) OVER (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at), DATE '9999-12-31') AS known_to
FROM (
  SELECT *,
    CASE
      WHEN first_seen_at = min(first_seen_at) OVER (PARTITION BY symbol, ex_date, kind, source)
        THEN least(coalesce(announce_date, ex_date), ex_date, local_date(first_seen_at, region))
      ELSE local_date(first_seen_at, region)
    END AS known_from
  FROM raw.corporate_actions
);

COMMENT ON VIEW corporate_action_versions IS 'Every version of each corporate action, with the dates between which it was the known one: known_from inclusive, known_to exclusive (9999-12-31: still). One row for each version.';
