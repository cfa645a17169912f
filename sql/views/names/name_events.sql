-- Ex-events of the one history of each name: those of the stored symbols, and those on the first bar after a rename, of
-- which ex_events sees only one side. There the rule of ex_events_of is that of the two bars: what sources say of either
-- symbol, else the stated previous close, cash and closes only where no session between the two bars may lack a bar.
-- Grain: one row for each name and ex-date. Inputs: named_rows, raw.bars_1d, ex_events_until, ex_events_of, ex_terms,
-- raw.trading_days, raw.absences_1d, unknown_spans, is_unknown_stretch.
CREATE OR REPLACE MACRO name_events(names, as_of := NULL, events := 'own_events') AS TABLE
WITH own_events AS NOT MATERIALIZED (FROM ex_events_until(as_of)),
days AS MATERIALIZED (
  SELECT symbol, stored_symbol, trade_date, close, prev_close, start_date, region,
    lag(stored_symbol) OVER bars AS last_symbol, lag(trade_date) OVER bars AS last_date, lag(close) OVER bars AS last_close
  FROM named_rows('raw.bars_1d', names, as_of := as_of)
  WINDOW bars AS (PARTITION BY symbol ORDER BY "timestamp")
),
seams AS MATERIALIZED (
  SELECT * FROM days WHERE last_symbol <> stored_symbol AND last_close > 0
),
holes AS (
  SELECT s.symbol, s.trade_date
  FROM seams AS s JOIN raw.trading_days AS t ON t.region = s.region AND t.trade_date > s.last_date AND t.trade_date < s.trade_date
  WHERE NOT EXISTS (
    FROM raw.absences_1d AS a
    WHERE a.symbol IN (s.stored_symbol, s.last_symbol) AND t.trade_date BETWEEN a.first_date AND a.last_date
      AND a.first_date > s.last_date AND a.last_date < s.trade_date)
  UNION
  SELECT s.symbol, s.trade_date
  FROM seams AS s JOIN unknown_spans AS u ON u.region = s.region AND is_unknown_stretch(
    greatest(s.last_date, coalesce(u.after_date, s.last_date)), least(s.trade_date, coalesce(u.before_date, s.trade_date)))
),
closes AS NOT MATERIALIZED (
  SELECT s.symbol, s.trade_date, s.last_date, s.last_close, s.close, s.prev_close, h.symbol IS NOT NULL AS has_hole,
    EXISTS (FROM raw.trading_days AS t WHERE t.region = s.region AND t.trade_date > s.last_date AND t.trade_date < s.trade_date) AS has_session,
    s.region
  FROM seams AS s LEFT JOIN holes AS h ON h.symbol = s.symbol AND h.trade_date = s.trade_date
),
-- Of one ex-date that sources state under both symbols, the terms of the newer one count.
terms AS NOT MATERIALIZED (
  SELECT s.symbol, t.ex_date, t.shares, t.paid, t.witness, t.source
  FROM seams AS s
  JOIN (FROM ex_terms(as_of := as_of) WHERE priority = 1) AS t
    ON t.symbol IN (s.stored_symbol, s.last_symbol) AND t.ex_date > s.last_date AND t.ex_date <= s.trade_date
  QUALIFY row_number() OVER (PARTITION BY s.symbol, s.trade_date, t.ex_date ORDER BY t.symbol = s.last_symbol) = 1
)
SELECT d.symbol, e.ex_date, e.last_close, e.prev_close, e.factor, e.amount, e.witness, e.source, e.reinvested, e.region
FROM days AS d
JOIN query_table(events) AS e ON e.symbol = d.stored_symbol AND e.ex_date <= d.trade_date
  AND e.ex_date > coalesce(d.last_date, DATE '0001-01-01')
WHERE d.last_symbol = d.stored_symbol OR (d.last_symbol IS NULL AND d.start_date = DATE '0001-01-01')
UNION ALL
FROM ex_events_of('closes', 'terms');

COMMENT ON MACRO TABLE name_events IS 'Ex-events of the one history of each name, through its renames. One row for each name and ex-date. The columns of ex_events.
names: Symbols that are asked for. [list]
as_of: Date in the exchange''s own zone: later bars and changes are not seen; null: everything. [date]
events: As in histories.
-> symbol: The name that was asked for.';
