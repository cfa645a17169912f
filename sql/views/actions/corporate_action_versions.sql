-- The versions of corporate actions, with the dates between which each was the known one. The first version is known from
-- its announcement, and at the latest from its ex-date, on which the market traded at the new level, or from when this
-- lake saw it. A later version corrects it from the date (in the exchange's zone) on which this lake first saw it.
-- Grain: one row for each version. Inputs: raw.corporate_actions.
CREATE OR REPLACE VIEW corporate_action_versions AS
SELECT *, coalesce(lead(known_from) OVER versions, DATE '9999-12-31') AS known_to
FROM (
  SELECT *,
    CASE
      WHEN first_seen_at = min(first_seen_at) OVER (PARTITION BY symbol, ex_date, kind, source)
        THEN least(coalesce(announce_date, ex_date), ex_date, local_date(first_seen_at, region))
      ELSE local_date(first_seen_at, region)
    END AS known_from
  FROM raw.corporate_actions
)
WINDOW versions AS (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at);

COMMENT ON VIEW corporate_action_versions IS 'Every version of each corporate action, with the dates between which it was the known one: as of a day D, WHERE known_from <= D AND known_to > D. One row for each version. History that is imported later adds versions that were known before.';
COMMENT ON COLUMN corporate_action_versions.known_from IS 'First date on which this version was known: of the first one its announcement, at the latest the ex-date or the date on which this lake saw it; of a later one the date on which this lake saw it.';
COMMENT ON COLUMN corporate_action_versions.known_to IS 'First date on which a later version was known; 9999-12-31 where there is none.';
COMMENT ON COLUMN corporate_action_versions.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN corporate_action_versions.ex_date IS 'First trading date at the new price level, in the exchange''s own zone.';
COMMENT ON COLUMN corporate_action_versions.kind IS 'cash_dividend, stock_dividend, split, consolidation, rights, spin_off, other.';
COMMENT ON COLUMN corporate_action_versions.source IS 'Who says so.';
COMMENT ON COLUMN corporate_action_versions.first_seen_at IS 'When this version was first seen by this lake. [UTC]';
COMMENT ON COLUMN corporate_action_versions.cash IS 'Cash for one share held before the ex-date. [currency a share]';
COMMENT ON COLUMN corporate_action_versions.ratio IS 'For one share held before: of a split or consolidation the shares after it, of a stock dividend the shares in addition, of rights those that may be bought, of a spin-off those of the other company. [shares a share]';
COMMENT ON COLUMN corporate_action_versions.price IS 'Price of one share: of rights what is paid for it, of a spin-off what a share of the other company is worth. [currency]';
COMMENT ON COLUMN corporate_action_versions.currency IS 'Currency of cash and price, where the source states it.';
COMMENT ON COLUMN corporate_action_versions.announce_date IS 'Date of the announcement.';
COMMENT ON COLUMN corporate_action_versions.record_date IS 'Date on whose evening holders are entitled.';
COMMENT ON COLUMN corporate_action_versions.pay_date IS 'Date of the payment.';
COMMENT ON COLUMN corporate_action_versions.region IS 'Region: CN, HK or US.';
