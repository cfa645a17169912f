-- What sources say of each ex-date, as far as it was known at the end of a date: who held one share has so many shares for it,
-- and has paid so much; the close of the session before, at the new price level, is (close + paid) / shares.
-- Grain: one row for each symbol, ex-date, witness and source. Inputs: corporate_action_versions, raw.ex_factors.
-- The query is written by `vitest test/sql/market-macros.test.ts -u` from src/db/market.
CREATE OR REPLACE MACRO ex_terms(as_of := NULL) AS TABLE
SELECT symbol, ex_date, shares, paid, witness, source, region,
    row_number() OVER (PARTITION BY symbol, ex_date ORDER BY witness DESC, seen_at, source) AS priority
  FROM (
    SELECT symbol, ex_date, factor AS shares, CAST(0 AS DOUBLE) AS paid, 'factor' AS witness, source, first_seen_at AS seen_at, region
    FROM raw.ex_factors AS f
    UNION ALL
    SELECT symbol, ex_date, shares, cost - cash AS paid, 'actions' AS witness, source, seen_at, region
    FROM (
      SELECT symbol, ex_date, source, region,
        coalesce(sum(coalesce(cash, CASE WHEN kind = 'spin_off' THEN ratio * price END)), 0) AS cash,
        coalesce(max(CASE WHEN kind = 'split' THEN ratio END), 1) * coalesce(max(CASE WHEN kind = 'consolidation' THEN ratio END), 1)
          + coalesce(max(CASE WHEN kind = 'stock_dividend' THEN ratio END), 0) + coalesce(max(CASE WHEN kind = 'rights' THEN ratio END), 0) AS shares,
        coalesce(max(CASE WHEN kind = 'rights' THEN ratio * price END), 0) AS cost,
        bool_and(CASE kind
          WHEN 'rights' THEN price IS NOT NULL
          WHEN 'spin_off' THEN cash IS NOT NULL OR ratio * price IS NOT NULL
          WHEN 'other' THEN cash IS NOT NULL
          ELSE true
        END) AS is_whole,
        min(seen_at) AS seen_at
      FROM (
        SELECT *, min(first_seen_at) OVER (PARTITION BY symbol, ex_date, source) AS seen_at,
          row_number() OVER (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at DESC) AS newness
        FROM corporate_action_versions AS a
      ) AS versions
      WHERE known_from <= coalesce(CAST(as_of AS DATE), DATE '9999-12-30') AND known_to > coalesce(CAST(as_of AS DATE), DATE '9999-12-30')
      GROUP BY symbol, ex_date, source, region
    ) AS days
    WHERE is_whole AND shares > 0
  ) AS said;

COMMENT ON MACRO TABLE ex_terms IS 'What factors and corporate actions say of each ex-date, as it was known at the end of a date: ex_terms(as_of := date). The close of the session before, at the new price level, is (close + paid) / shares. One row for each symbol, ex-date, witness and source. Actions that do not say what they are worth are left out.
as_of: Date in the exchange''s own zone; null: now. [date]
-> symbol: Instrument symbol.
-> ex_date: First trading date at the new price level, in the exchange''s own zone.
-> shares: Shares for one held before; of a factor the factor. [shares a share]
-> paid: What the holder of one share pays for rights, less the cash that it gets; of a factor 0. [currency a share]
-> witness: factor: a source states the factor; actions: it follows from the actions of the day.
-> source: Who says so.
-> region: Region: CN, HK or US.
-> priority: 1 for what counts: factors before actions, then the source that this lake saw first.';
