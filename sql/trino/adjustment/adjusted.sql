-- Bars of any period and adjustment, as the service returns them: first adjusted, then aggregated. See
-- sql/views/adjustment/adjusted.sql, whose parameters are columns here: a query should select one value of each,
-- otherwise every bar is returned 50 times.
--   SELECT * FROM adjusted WHERE period = '1d' AND adjustment = 'forward'
-- Grain: one row for each period, adjustment, symbol and bar. Inputs: raw.bars_1m, raw.bars_1d, adjustment_steps.
-- Conditions on symbol and region reach the files for every period; those on trade_date only for minutes and days,
-- because weeks and longer periods are first aggregated from whole spans.
CREATE OR REPLACE VIEW adjusted AS
WITH adjustments (adjustment) AS (
  VALUES 'none', 'forward', 'backward', 'forward_additive', 'backward_additive'
),
minutes AS (
  SELECT b.symbol, b."timestamp", b.trade_date, b.open, b.high, b.low, b.close, b.volume, b.amount, b.open_interest,
    b.prev_close, b.settlement_price, b.lot, b.is_final, b.region, a.adjustment, s."value" AS step,
    region_lot(b.region) AS unit, exact_shares(b.volume, b.lot) AS shares
  FROM raw.bars_1m AS b
  CROSS JOIN adjustments AS a
  LEFT JOIN adjustment_steps AS s
    ON s.symbol = b.symbol AND s.adjustment = a.adjustment AND b.trade_date >= s.start_date AND b.trade_date < s.end_date
),
days AS (
  SELECT b.symbol, b."timestamp", b.trade_date, b.open, b.high, b.low, b.close, b.volume, b.amount, b.open_interest,
    b.prev_close, b.settlement_price, b.lot, b.is_final, b.region, a.adjustment, s."value" AS step,
    region_lot(b.region) AS unit, exact_shares(b.volume, b.lot) AS shares
  FROM raw.bars_1d AS b
  CROSS JOIN adjustments AS a
  LEFT JOIN adjustment_steps AS s
    ON s.symbol = b.symbol AND s.adjustment = a.adjustment AND b.trade_date >= s.start_date AND b.trade_date < s.end_date
),
landed AS (
  SELECT '1m' AS period, * FROM minutes
  UNION ALL
  SELECT '1d', * FROM days
),
-- The bars that are aggregated, each with the span that it belongs to. For minutes it is the end of the session's bar,
-- for days the beginning of the week, month, quarter or year.
spans AS (
  SELECT p.period, m.*,
    CAST(from_unixtime_nanos(1000000 * (local_midnight(m.trade_date, m.region) + session_bar_end(m.region,
      date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', m."timestamp") - local_midnight(m.trade_date, m.region),
      p.step_ms))) AS TIMESTAMP(3) WITH TIME ZONE) AS span_end,
    m.trade_date AS span_start
  FROM minutes AS m
  CROSS JOIN (VALUES ('5m', 300000), ('10m', 600000), ('15m', 900000), ('30m', 1800000), ('60m', 3600000)) AS p (period, step_ms)
  UNION ALL
  SELECT p.period, d.*, NULL, date_trunc(p.unit_of_time, d.trade_date)
  FROM days AS d
  CROSS JOIN (VALUES ('1w', 'week'), ('1M', 'month'), ('1Q', 'quarter'), ('1Y', 'year')) AS p (period, unit_of_time)
),
priced AS (
  SELECT period, adjustment, symbol, "timestamp", trade_date, span_end, span_start,
    adjusted_price(stated_price(open, close), adjustment, step) AS open,
    adjusted_price(stated_price(high, close), adjustment, step) AS high,
    adjusted_price(stated_price(low, close), adjustment, step) AS low,
    adjusted_price(close, adjustment, step) AS close,
    shares, amount, open_interest, adjusted_price(prev_close, adjustment, step) AS prev_close,
    adjusted_price(settlement_price, adjustment, step) AS settlement_price, unit, is_final, region
  FROM spans
)
SELECT period, adjustment, symbol, trade_date, "timestamp",
  adjusted_price(open, adjustment, step) AS open,
  adjusted_price(high, adjustment, step) AS high,
  adjusted_price(low, adjustment, step) AS low,
  adjusted_price(close, adjustment, step) AS close,
  CASE WHEN lot = unit THEN volume ELSE units_of(shares, unit) END AS volume,
  amount,
  adjusted_price(prev_close, adjustment, step) AS prev_close,
  open_interest,
  adjusted_price(settlement_price, adjustment, step) AS settlement_price,
  unit AS lot, units_of(shares, 1) AS shares, BIGINT '1' AS landed_bars, is_final, region
FROM landed
UNION ALL
SELECT period, adjustment, symbol, span_start, span_end,
  min_by(open, "timestamp") FILTER (WHERE open IS NOT NULL), max(high), min(low),
  max_by(close, "timestamp") FILTER (WHERE close IS NOT NULL),
  units_of(sum(shares), unit), sum(amount), min_by(prev_close, "timestamp"), max_by(open_interest, "timestamp"),
  max_by(settlement_price, "timestamp"), unit, units_of(sum(shares), 1), count(*), bool_and(is_final), region
FROM priced
WHERE period IN ('5m', '10m', '15m', '30m', '60m')
GROUP BY period, adjustment, symbol, region, unit, span_start, span_end
UNION ALL
SELECT period, adjustment, symbol, max(trade_date), max("timestamp"),
  min_by(open, "timestamp") FILTER (WHERE open IS NOT NULL), max(high), min(low),
  max_by(close, "timestamp") FILTER (WHERE close IS NOT NULL),
  units_of(sum(shares), unit), sum(amount), min_by(prev_close, "timestamp"), max_by(open_interest, "timestamp"),
  max_by(settlement_price, "timestamp"), unit, units_of(sum(shares), 1), count(*), bool_and(is_final), region
FROM priced
WHERE period IN ('1w', '1M', '1Q', '1Y')
GROUP BY period, adjustment, symbol, region, unit, span_start;

COMMENT ON VIEW adjusted IS 'Bars of any period and adjustment, as the service returns them. One row for each period, adjustment, symbol and bar: ask for one period (1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q, 1Y) and one adjustment (none, forward, backward, forward_additive, backward_additive).';
