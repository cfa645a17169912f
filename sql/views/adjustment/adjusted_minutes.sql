-- Bars of 5 to 60 minutes with adjusted prices, aggregated from minutes within the parts of the session
-- (session_grid_end).
-- Grain: one row for each symbol and bar. Inputs: the named relation.
CREATE OR REPLACE MACRO adjusted_minutes(priced, period) AS TABLE
SELECT symbol, trade_date, make_timestamptz(label * 1000) AS "timestamp",
  arg_min(open, "timestamp") AS open, max(high) AS high, min(low) AS low, arg_max(close, "timestamp") AS close,
  units_of(sum(shares), unit) AS volume,
  sum(amount) AS amount, arg_min_null(prev_close, "timestamp") AS prev_close,
  arg_max_null(open_interest, "timestamp") AS open_interest, arg_max_null(settlement_price, "timestamp") AS settlement_price,
  unit AS lot, CASE WHEN sum(shares) IS NOT NULL THEN CAST(least(sum(shares), 9223372036854775807) AS BIGINT) END AS shares, count(*) AS landed_bars, bool_and(is_final) AS is_final, region
FROM (
  SELECT *, epoch_ms("timestamp") - local_ms + session_grid_end(region, local_ms, step_ms, part_start, part_end) AS label
  FROM (
    SELECT *, session_part_start(region, local_ms) AS part_start, session_part_end(region, local_ms) AS part_end
    FROM (
      SELECT *, epoch_ms("timestamp") - local_midnight(trade_date, region) AS local_ms,
        60000 * CASE period WHEN '5m' THEN 5 WHEN '10m' THEN 10 WHEN '15m' THEN 15 WHEN '30m' THEN 30 ELSE 60 END AS step_ms
      FROM query_table(priced)
    )
  )
)
GROUP BY symbol, region, unit, trade_date, label;

COMMENT ON MACRO TABLE adjusted_minutes IS 'Bars of several minutes with adjusted prices: the part of adjusted for 5m to 60m. One row for each symbol and bar. The columns of adjusted.
priced: Name of a relation with the rows of priced_bars or unadjusted_bars.
period: 5m, 10m, 15m, 30m or 60m.';
