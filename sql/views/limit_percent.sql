-- How far a day's price may move from the previous close by the rules of the Chinese exchanges: 30 in Beijing, 20 on STAR
-- and, since 2020-08-24, on ChiNext, 5 for shares under special treatment on the main boards, else 10 since 1996-12-16.
-- Indexes, other regions and other kinds of instruments have none.
-- Grain: one value a symbol and date. Inputs: symbol, date, and the instrument's type and name on it.
CREATE OR REPLACE MACRO limit_percent(symbol, trade_date, type, name) AS
  CASE
    WHEN coalesce(type, 'stock') NOT IN ('stock', 'etf') OR trade_date < DATE '1996-12-16' THEN NULL
    WHEN type IS NULL AND regexp_matches(symbol, '^(000\d{3}\.SH|399\d{3}\.SZ)$') THEN NULL
    WHEN symbol LIKE '%.BJ' THEN 30
    WHEN symbol NOT LIKE '%.SH' AND symbol NOT LIKE '%.SZ' THEN NULL
    WHEN regexp_matches(symbol, '^68[89]') THEN 20
    WHEN regexp_matches(symbol, '^30[01]\d{3}\.SZ$') AND trade_date >= DATE '2020-08-24' THEN 20
    WHEN regexp_matches(coalesce(name, ''), '^S?\*?ST') AND NOT regexp_matches(symbol, '^30[01]') THEN 5
    ELSE 10
  END;

COMMENT ON MACRO limit_percent IS 'How far a day''s price may move from the previous close by the rules of the Chinese exchanges; null where there is no limit. [percent]
symbol: Instrument symbol.
trade_date: Trading date. [date]
type: Kind of instrument; null: derived from the code.
name: Display name on that date: ST and *ST halve the limit of the main boards.';
