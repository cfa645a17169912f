-- Changes from one snapshot of reference data or statements to a later one, and when this lake saw them.
-- Grain: one row for each change; for a restatement one row for each field that differs. Inputs: raw.instruments,
-- raw.universes, raw.universe_members, raw.balance_sheet, raw.cash_flow, raw.income, raw.metrics, raw.shares (every
-- version ever seen). The content of the first snapshot is not a change, and neither are members that were imported. Metadata that changes daily (limits, shares)
-- is left to the raw tables.
CREATE OR REPLACE VIEW reference_changes AS
WITH instrument_versions AS (
  SELECT symbol, region, name, valid_from, valid_to,
    lag(name) OVER versions AS name_before,
    lag(valid_to) OVER versions AS ended_before,
    lead(valid_from) OVER versions AS next_from,
    min(valid_from) OVER (PARTITION BY exchange) AS first_snapshot
  FROM raw.instruments
  WINDOW versions AS (PARTITION BY symbol ORDER BY valid_from)
),
universe_versions AS (
  SELECT id, region, name, valid_from, valid_to,
    lag(name) OVER versions AS name_before,
    lag(valid_to) OVER versions AS ended_before,
    lead(valid_from) OVER versions AS next_from,
    min(valid_from) OVER () AS first_snapshot
  FROM raw.universes
  WINDOW versions AS (PARTITION BY id ORDER BY valid_from)
),
spells AS (
  SELECT id, symbol, region, valid_from, valid_to,
    lag(valid_to) OVER (PARTITION BY id, symbol ORDER BY valid_from) AS ended_before,
    min(valid_from) OVER (PARTITION BY id) AS first_snapshot
  FROM (SELECT * FROM raw.universe_members UNION ALL BY NAME SELECT CAST(NULL AS VARCHAR) AS source WHERE false)
  WHERE source IS NULL
),
statement_versions AS (
  SELECT 'balance_sheet' AS dataset, to_json(s) AS content, symbol, region, period_end, announce_date, first_seen_at
  FROM raw.balance_sheet AS s
  QUALIFY count(*) OVER (PARTITION BY symbol, period_end) > 1
  UNION ALL
  SELECT 'cash_flow', to_json(s), symbol, region, period_end, announce_date, first_seen_at
  FROM raw.cash_flow AS s
  QUALIFY count(*) OVER (PARTITION BY symbol, period_end) > 1
  UNION ALL
  SELECT 'income', to_json(s), symbol, region, period_end, announce_date, first_seen_at
  FROM raw.income AS s
  QUALIFY count(*) OVER (PARTITION BY symbol, period_end) > 1
  UNION ALL
  SELECT 'metrics', to_json(s), symbol, region, period_end, announce_date, first_seen_at
  FROM raw.metrics AS s
  QUALIFY count(*) OVER (PARTITION BY symbol, period_end) > 1
  UNION ALL
  SELECT 'shares', to_json(s), symbol, region, period_end, announce_date, first_seen_at
  FROM raw.shares AS s
  QUALIFY count(*) OVER (PARTITION BY symbol, period_end) > 1
),
restatements AS (
  SELECT *, lag(content) OVER versions AS content_before
  FROM statement_versions
  WINDOW versions AS (PARTITION BY dataset, symbol, period_end ORDER BY first_seen_at, announce_date NULLS FIRST)
  QUALIFY lag(first_seen_at) OVER versions < first_seen_at
    AND coalesce(lag(announce_date) OVER versions <= announce_date, true)
),
restated AS (
  SELECT *, unnest(json_keys(content)) AS field
  FROM restatements
)
SELECT valid_from AS changed_at, 'instruments' AS dataset,
  CASE
    WHEN ended_before IS NULL THEN 'listed'
    WHEN ended_before < valid_from THEN 'relisted'
    ELSE 'renamed'
  END AS change,
  region, symbol, CAST(NULL AS VARCHAR) AS universe_id, CAST(NULL AS DATE) AS period_end,
  CASE WHEN ended_before = valid_from THEN 'name' END AS field,
  CASE WHEN ended_before = valid_from THEN name_before END AS was, name AS is_now
FROM instrument_versions
WHERE valid_from > first_snapshot
  AND (ended_before IS NULL OR ended_before < valid_from OR name IS DISTINCT FROM name_before)
UNION ALL
SELECT valid_to, 'instruments', 'delisted', region, symbol, NULL, NULL, NULL, name, NULL
FROM instrument_versions
WHERE valid_to IS NOT NULL AND (next_from IS NULL OR next_from > valid_to)
UNION ALL
SELECT valid_from, 'universes',
  CASE WHEN ended_before IS NULL OR ended_before < valid_from THEN 'added' ELSE 'renamed' END,
  region, NULL, id, NULL,
  CASE WHEN ended_before = valid_from THEN 'name' END,
  CASE WHEN ended_before = valid_from THEN name_before END, name
FROM universe_versions
WHERE valid_from > first_snapshot
  AND (ended_before IS NULL OR ended_before < valid_from OR name IS DISTINCT FROM name_before)
UNION ALL
SELECT valid_to, 'universes', 'removed', region, NULL, id, NULL, NULL, name, NULL
FROM universe_versions
WHERE valid_to IS NOT NULL AND (next_from IS NULL OR next_from > valid_to)
UNION ALL
SELECT valid_from, 'universe_members', CASE WHEN ended_before IS NULL THEN 'joined' ELSE 'rejoined' END,
  region, symbol, id, NULL, NULL, NULL, NULL
FROM spells
WHERE valid_from > first_snapshot
UNION ALL
SELECT valid_to, 'universe_members', 'left', region, symbol, id, NULL, NULL, NULL, NULL
FROM spells
WHERE valid_to IS NOT NULL
UNION ALL
SELECT first_seen_at, dataset, 'restated', region, symbol, NULL, period_end, field,
  content_before ->> field, content ->> field
FROM restated
WHERE field NOT IN ('symbol', 'region', 'period_end', 'announce_date', 'first_seen_at')
  AND (content_before ->> field) IS DISTINCT FROM (content ->> field);

COMMENT ON VIEW reference_changes IS 'What changed from one snapshot of reference data or statements to a later one. One row for each change. What the first snapshot brought is no change.';
COMMENT ON COLUMN reference_changes.changed_at IS 'When this lake first saw it: the change itself was at some time since the snapshot before. [UTC]';
COMMENT ON COLUMN reference_changes.dataset IS 'Table of the versions: instruments, universes, universe_members, balance_sheet, cash_flow, income, metrics, shares.';
COMMENT ON COLUMN reference_changes.change IS 'listed, relisted, renamed, delisted (by absence); added, removed, renamed; joined, rejoined, left; restated.';
COMMENT ON COLUMN reference_changes.universe_id IS 'Universe; null for instruments and statements.';
COMMENT ON COLUMN reference_changes.period_end IS 'Reporting period of a restated statement.';
COMMENT ON COLUMN reference_changes.field IS 'What differs: name, or an item of a statement.';
COMMENT ON COLUMN reference_changes.was IS 'Value before, as text.';
COMMENT ON COLUMN reference_changes.is_now IS 'Value since, as text.';
COMMENT ON COLUMN reference_changes.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN reference_changes.symbol IS 'Instrument; null for universes.';
