-- Numbers of shares: the newest version of each reported period. For a symbol without reported numbers: those in the
-- snapshots of its instrument, one row for each snapshot whose numbers differ from those before.
-- Grain: one row for each symbol and period; the period of a row from a snapshot is the day (in the exchange's zone) on
-- which this lake saw the snapshot. Inputs: raw.shares (every version ever seen), raw.instruments.
-- Units: shares.
CREATE OR REPLACE VIEW shares AS
WITH days AS NOT MATERIALIZED (
  SELECT symbol, local_date(valid_from, region) AS period_end, valid_from AS first_seen_at, float_shares, total_shares, region
  FROM raw.instruments
  WHERE (float_shares IS NOT NULL OR total_shares IS NOT NULL) AND symbol NOT IN (SELECT symbol FROM raw.shares)
  QUALIFY row_number() OVER (PARTITION BY symbol, local_date(valid_from, region) ORDER BY valid_from DESC) = 1
)
SELECT *
FROM raw.shares
QUALIFY row_number() OVER (
  PARTITION BY symbol, period_end
  ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST
) = 1
UNION ALL BY NAME
SELECT *, 'instruments' AS derived_from
FROM days
WINDOW snapshots AS (PARTITION BY symbol ORDER BY period_end)
QUALIFY lag(period_end) OVER snapshots IS NULL
  OR float_shares IS DISTINCT FROM lag(float_shares) OVER snapshots
  OR total_shares IS DISTINCT FROM lag(total_shares) OVER snapshots;

COMMENT ON VIEW shares IS 'Numbers of shares, the newest version of each period; of a symbol for which none are reported, those of its instrument''s snapshots. One row for each symbol and period. All versions ever seen: raw.shares.';
COMMENT ON COLUMN shares.period_end IS 'Date of the numbers as the source states it; of a derived row the day, at the exchange, on which this lake saw the snapshot.';
COMMENT ON COLUMN shares.announce_date IS 'Date of publication, where the source states it.';
COMMENT ON COLUMN shares.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
COMMENT ON COLUMN shares.derived_from IS 'instruments: derived from a snapshot of the instrument''s metadata; null: reported.';
COMMENT ON COLUMN shares.float_shares IS 'Shares that trade freely. [shares]';
COMMENT ON COLUMN shares.total_shares IS 'Shares issued. [shares]';
