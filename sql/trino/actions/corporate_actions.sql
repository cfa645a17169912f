-- Corporate actions: the newest version of each action of each source. See sql/views/actions/corporate_actions.sql.
-- Grain: one row for each symbol, ex-date, kind and source. Inputs: raw.corporate_actions (every version ever seen).
CREATE OR REPLACE VIEW corporate_actions AS
SELECT symbol, ex_date, kind, source, first_seen_at, cash, ratio, price, currency, announce_date, record_date, pay_date, region
FROM (
  SELECT *, row_number() OVER (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at DESC) AS newest
  FROM raw.corporate_actions
)
WHERE newest = 1;

COMMENT ON VIEW corporate_actions IS 'Corporate actions (dividends, splits, rights), the newest version of each. One row for each symbol, ex-date, kind and source. All versions: corporate_action_versions.';
