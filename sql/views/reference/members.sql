-- Members of a universe as they were known at the end of a date. Before the first snapshot of the universe, or the first
-- date of which members were imported, its members are assumed to be those of then; members that had left before are not
-- known. A lake of an earlier version has no column of sources.
-- Grain: one row for each symbol. Inputs: raw.universe_members.
CREATE OR REPLACE MACRO members(universe, as_of := NULL) AS TABLE
SELECT symbol,
  CASE WHEN seen_from > day THEN 'assumed' WHEN source IS NULL THEN 'observed' ELSE 'imported' END AS known,
  seen_from, seen_to, region, source
FROM (
  SELECT symbol, region, source,
    local_date(valid_from, region) AS seen_from,
    local_date(valid_to, region) AS seen_to,
    valid_from = min(valid_from) OVER () AS is_first,
    coalesce(CAST(as_of AS DATE), DATE '9999-12-31') AS day
  FROM (SELECT * FROM raw.universe_members UNION ALL BY NAME SELECT CAST(NULL AS VARCHAR) AS source WHERE false)
  WHERE id = universe
)
WHERE (seen_to IS NULL OR (seen_to > day AND seen_from < seen_to)) AND (seen_from <= day OR is_first);

COMMENT ON MACRO TABLE members IS 'Members of a universe as they were known at the end of a date: members(''id'', date). One row for each symbol. Dates before the first snapshot change once, when it comes: its members are assumed for them.
universe: Id of the universe.
as_of: Date in the exchange''s own zone; null: now. [date]
-> symbol: Member.
-> known: observed: this lake saw it then; imported: a source said so; assumed: from before the first snapshot or import.
-> seen_from: Date on which it was first seen as a member, or became one by an import.
-> seen_to: Date on which it was first missing, or left by an import; null while it is a member. Later than as_of: not known then.
-> region: Region: CN, HK or US.
-> source: Who said so, of an imported membership; null where this lake saw it.';
