-- Instruments as they were known at the end of a date, including instruments that were delisted later, so that research
-- has no survivorship bias from the first snapshot on.
-- Grain: one row for each symbol. Inputs: instrument_versions.
CREATE OR REPLACE MACRO instruments_asof(as_of) AS TABLE
SELECT *
FROM instrument_versions
WHERE from_date <= coalesce(CAST(as_of AS DATE), DATE '9999-12-31')
  AND (to_date IS NULL OR to_date > coalesce(CAST(as_of AS DATE), DATE '9999-12-31'));

COMMENT ON MACRO TABLE instruments_asof IS 'Instruments as they were known at the end of a date. One row for each symbol. Dates before an instrument was first seen change once, when it is: what was seen is assumed for them, from the listing date if there is one. The columns of instrument_versions.
as_of: Date in the exchange''s own zone; null: now. [date]';
