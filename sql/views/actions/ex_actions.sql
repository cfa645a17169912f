-- What the corporate actions of each ex-date give for one share held before it, as they were known at the end of a date.
-- With the close of the session before, action_factor makes the factor of the event of it. A split and a consolidation of
-- one day follow each other. Where an action does not say what it is worth (rights without a price, a spin-off or another
-- one without cash), the sums of its day are null, and so is the factor.
-- Grain: one row for each symbol, ex-date and source. Inputs: corporate_action_versions.
CREATE OR REPLACE MACRO ex_actions(as_of := NULL) AS TABLE
SELECT symbol, ex_date, source,
  CASE WHEN is_whole THEN cash END AS cash,
  CASE WHEN is_whole THEN shares END AS shares,
  CASE WHEN is_whole THEN rights END AS rights,
  CASE WHEN is_whole THEN paid END AS paid,
  currency, known_from,
  row_number() OVER (PARTITION BY symbol, ex_date ORDER BY seen_at, source) AS priority,
  region
FROM (
  SELECT symbol, ex_date, source, region,
    coalesce(sum(coalesce(cash, CASE WHEN kind = 'spin_off' THEN ratio * price END)), 0) AS cash,
    coalesce(max(CASE WHEN kind = 'split' THEN ratio END), 1) * coalesce(max(CASE WHEN kind = 'consolidation' THEN ratio END), 1)
      - 1 + coalesce(max(CASE WHEN kind = 'stock_dividend' THEN ratio END), 0) AS shares,
    coalesce(max(CASE WHEN kind = 'rights' THEN ratio END), 0) AS rights,
    coalesce(max(CASE WHEN kind = 'rights' THEN ratio * price END), 0) AS paid,
    bool_and(CASE kind
      WHEN 'rights' THEN price IS NOT NULL
      WHEN 'spin_off' THEN cash IS NOT NULL OR ratio * price IS NOT NULL
      WHEN 'other' THEN cash IS NOT NULL
      ELSE true
    END) AS is_whole,
    max(currency) AS currency,
    max(known_from) AS known_from,
    min(first_seen_at) AS seen_at
  FROM corporate_action_versions
  WHERE known_from <= coalesce(CAST(as_of AS DATE), DATE '9999-12-30')
    AND known_to > coalesce(CAST(as_of AS DATE), DATE '9999-12-30')
  GROUP BY symbol, ex_date, source, region
);

COMMENT ON MACRO TABLE ex_actions IS 'What the corporate actions of each ex-date give for one share held before it, as they were known at the end of a date: ex_actions(as_of := date). One row for each symbol, ex-date and source. action_factor(last_close, cash, shares, rights, paid) is the factor of the event.
as_of: Date in the exchange''s own zone; null: now. [date]
-> symbol: Instrument symbol.
-> ex_date: First trading date at the new price level, in the exchange''s own zone.
-> source: Who says so.
-> cash: Cash for one share, and what the shares of a spin-off are worth; null where an action of the day does not say what it is worth, as are the next three. [currency a share]
-> shares: Shares in addition: 3 for a split of 4 for 1, -0.9 for a consolidation of 10. [shares a share]
-> rights: Shares that may be bought. [shares a share]
-> paid: What these cost. [currency a share]
-> currency: Currency of cash and paid, where the source states it.
-> known_from: First date on which all of them were known in these versions.
-> priority: 1 for the source that this lake saw first, then 2 and so on.
-> region: Region: CN, HK or US.';
