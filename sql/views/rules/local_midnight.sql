-- The instant from which the local times of a trading date are counted: noon in the exchange's zone minus twelve hours,
-- which is right in all trading hours, even on a day on which clocks change. Mainland China and Hong Kong have not
-- changed their clocks since 1992, so no zone is looked up there: this would take longer than all other work for a bar.
-- Grain: one value for each date. Inputs: a trading date and a region.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO local_midnight(trade_date, region) AS
  CASE
    WHEN region IN ('CN', 'HK') AND trade_date >= DATE '1992-01-01' THEN epoch_ms(trade_date) - 28800000
    ELSE epoch_ms(CASE region
      WHEN 'CN' THEN timezone('Asia/Shanghai', trade_date + INTERVAL 12 HOUR)
      WHEN 'HK' THEN timezone('Asia/Hong_Kong', trade_date + INTERVAL 12 HOUR)
      WHEN 'US' THEN timezone('America/New_York', trade_date + INTERVAL 12 HOUR)
    END) - 43200000
  END;

COMMENT ON MACRO local_midnight IS 'Noon in the exchange''s zone less twelve hours, since 1970-01-01 UTC. [ms]
trade_date: Date in the exchange''s own zone.
region: Region: CN, HK or US.';
