-- Corporate actions: the newest version of each action of each source.
-- Grain: one row for each symbol, ex-date, kind and source. Inputs: raw.corporate_actions (every version ever seen).
CREATE OR REPLACE VIEW corporate_actions AS
SELECT *
FROM raw.corporate_actions
QUALIFY row_number() OVER (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at DESC) = 1;

COMMENT ON VIEW corporate_actions IS 'Corporate actions (dividends, splits, rights), the newest version of each. One row for each symbol, ex-date, kind and source. All versions: corporate_action_versions. ex_events has what prices are adjusted by.';
