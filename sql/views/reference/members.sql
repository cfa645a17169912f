-- Members of a universe as they were known at the end of a date. Before the first snapshot of the universe, its members
-- are assumed to be those of that snapshot; members that had left before it are not known.
-- Grain: one row for each symbol. Inputs: raw.universe_members.
CREATE OR REPLACE MACRO members(universe, as_of := NULL) AS TABLE
SELECT symbol, CASE WHEN seen_from <= day THEN 'observed' ELSE 'assumed' END AS known, seen_from, seen_to, region
FROM (
  SELECT symbol, region,
    local_date(valid_from, region) AS seen_from,
    local_date(valid_to, region) AS seen_to,
    valid_from = min(valid_from) OVER () AS is_first,
    coalesce(CAST(as_of AS DATE), DATE '9999-12-31') AS day
  FROM raw.universe_members
  WHERE id = universe
)
WHERE (seen_to IS NULL OR (seen_to > day AND seen_from < seen_to)) AND (seen_from <= day OR is_first);

COMMENT ON MACRO TABLE members IS 'Members of a universe as they were known at the end of a date: members(''id'', date). One row for each symbol. Dates before the first snapshot change once, when it comes: its members are assumed for them.
universe: Id of the universe.
as_of: Date in the exchange''s own zone; null: now. [date]
-> symbol: Member.
-> known: observed: this lake saw it then; assumed: from before the first snapshot.
-> seen_from: Date on which it was first seen as a member.
-> seen_to: Date on which it was first missing; null while it is a member. Later than as_of: not known then.
-> region: Region: CN, HK or US.';
