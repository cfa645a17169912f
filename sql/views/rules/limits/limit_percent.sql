-- How far a day's price may move from the previous close by the rules of the Chinese exchanges: 30 in Beijing, 20 on
-- STAR and, since 2020-08-24, on ChiNext, and for funds that track these, 5 for shares under special treatment on the main
-- boards since 1998-04-22, else 10 since 1996-12-16. Indexes, other regions and other types of instruments have no limit.
-- Grain: one value for each symbol and date. Inputs: symbol, date, and the instrument's type and name on it.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO limit_percent(symbol, trade_date, type, name) AS
  CASE
    WHEN coalesce(type, 'stock') NOT IN ('stock', 'etf') THEN NULL
    WHEN type IS NULL AND regexp_matches(symbol, '^(000\d{3}\.SH|399\d{3}\.SZ)$') THEN NULL
    WHEN regexp_matches(symbol, '\.BJ$') AND trade_date >= DATE '2021-11-15' THEN 30
    WHEN regexp_matches(symbol, '^58[89]\d{3}\.SH$') AND trade_date >= DATE '2020-11-16' THEN 20
    WHEN regexp_matches(symbol, '^(5\d{5}\.SH|1[56]\d{4}\.SZ)$') AND regexp_matches(coalesce(name, ''), '^[^债]*(创业|科创|双创|创50|创成长|创大盘|创中盘)[^债]*$') AND trade_date >= DATE '2020-08-24' THEN 20
    WHEN regexp_matches(symbol, '^68[89]\d{3}\.SH$') AND trade_date >= DATE '2019-07-22' THEN 20
    WHEN regexp_matches(symbol, '^30[0-2]\d{3}\.SZ$') AND trade_date >= DATE '2020-08-24' THEN 20
    WHEN regexp_matches(symbol, '^30[0-2]\d{3}\.SZ$') AND trade_date >= DATE '1996-12-16' THEN 10
    WHEN regexp_matches(symbol, '\.(SH|SZ)$') AND type IS DISTINCT FROM 'etf' AND regexp_matches(coalesce(name, ''), '^S?\*?ST') AND trade_date >= DATE '1998-04-22' THEN 5
    WHEN regexp_matches(symbol, '\.(SH|SZ)$') AND trade_date >= DATE '1996-12-16' THEN 10
  END;

COMMENT ON MACRO limit_percent IS 'How far a day''s price may move from the previous close by the rules of the Chinese exchanges; null where there is no limit. [percent]
symbol: Instrument symbol.
trade_date: Trading date. [date]
type: Kind of instrument; null: derived from the code.
name: Display name on that date: ST and *ST halve the limit of the main boards, and those of funds say what they track.';
