-- Bars of any period and adjustment, as the service returns them: adjusted first, aggregated after. Minutes aggregate
-- within the parts of the session (session_bar_end), days by calendar week, month, quarter and year.
-- With as_of, nothing later is seen: neither bars nor ex-events, so that forward prices are those of that day's charts.
-- In an aggregate the close of a bar without trades stands for prices that its feed set to 0 (stated_price).
-- Grain: one row a symbol and bar. Inputs: raw.bars_1m, raw.bars_1d, adjustment_steps.
-- Conditions on symbol reach the files for every period; those on trade_date for minutes and days, while weeks and longer
-- are made of whole spans first.
CREATE OR REPLACE MACRO adjusted(period, adjustment, as_of := NULL) AS TABLE
WITH landed AS NOT MATERIALIZED (
  SELECT symbol, "timestamp", trade_date, open, high, low, close, volume, amount, open_interest, prev_close,
    settlement_price, lot, is_final, region
  FROM raw.bars_1m
  WHERE period IN ('1m', '5m', '10m', '15m', '30m', '60m')
    AND (CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE))
  UNION ALL
  SELECT symbol, "timestamp", trade_date, open, high, low, close, volume, amount, open_interest, prev_close,
    settlement_price, lot, is_final, region
  FROM raw.bars_1d
  WHERE period IN ('1d', '1w', '1M', '1Q', '1Y')
    AND (CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE))
),
priced AS NOT MATERIALIZED (
  SELECT
    landed.symbol,
    "timestamp",
    trade_date,
    adjusted_price(CASE WHEN period IN ('1m', '1d') THEN open ELSE stated_price(open, close) END, adjustment, value) AS open,
    adjusted_price(CASE WHEN period IN ('1m', '1d') THEN high ELSE stated_price(high, close) END, adjustment, value) AS high,
    adjusted_price(CASE WHEN period IN ('1m', '1d') THEN low ELSE stated_price(low, close) END, adjustment, value) AS low,
    adjusted_price(close, adjustment, value) AS close,
    volume,
    CAST(volume AS HUGEINT) * lot AS shares,
    amount,
    open_interest,
    adjusted_price(prev_close, adjustment, value) AS prev_close,
    adjusted_price(settlement_price, adjustment, value) AS settlement_price,
    lot,
    region_lot(region) AS unit,
    is_final,
    region
  FROM landed
  LEFT JOIN adjustment_steps(adjustment, as_of := as_of) AS steps
    ON steps.symbol = landed.symbol AND trade_date >= start_date AND trade_date < end_date
),
timed AS NOT MATERIALIZED (
  SELECT *, local_midnight(trade_date, region) AS midnight, epoch_ms("timestamp") AS ms,
    60000 * CASE period WHEN '5m' THEN 5 WHEN '10m' THEN 10 WHEN '15m' THEN 15 WHEN '30m' THEN 30 ELSE 60 END AS step_ms
  FROM priced
),
placed AS NOT MATERIALIZED (
  SELECT *, ms - midnight AS local_ms FROM timed
),
bucketed AS NOT MATERIALIZED (
  SELECT *, midnight + session_bar_end(region, local_ms, step_ms) AS label FROM placed
)
SELECT symbol, trade_date, "timestamp", open, high, low, close,
  CASE WHEN lot = unit THEN volume ELSE units_of(shares, unit) END AS volume,
  amount, prev_close, open_interest, settlement_price, unit AS lot, units_of(shares, 1) AS shares, 1::BIGINT AS landed_bars,
  is_final, region
FROM priced
WHERE period IN ('1m', '1d')
UNION ALL
SELECT symbol, trade_date, make_timestamptz(label * 1000),
  arg_min(open, "timestamp"), max(high), min(low), arg_max(close, "timestamp"),
  units_of(sum(shares), unit),
  sum(amount), arg_min_null(prev_close, "timestamp"), arg_max_null(open_interest, "timestamp"),
  arg_max_null(settlement_price, "timestamp"), unit, units_of(sum(shares), 1), count(*), bool_and(is_final), region
FROM bucketed
WHERE period IN ('5m', '10m', '15m', '30m', '60m')
GROUP BY symbol, region, unit, trade_date, label
UNION ALL
SELECT symbol, max(trade_date), max("timestamp"),
  arg_min(open, "timestamp"), max(high), min(low), arg_max(close, "timestamp"),
  units_of(sum(shares), unit),
  sum(amount), arg_min_null(prev_close, "timestamp"), arg_max_null(open_interest, "timestamp"),
  arg_max_null(settlement_price, "timestamp"), unit, units_of(sum(shares), 1), count(*), bool_and(is_final), region
FROM priced
WHERE period IN ('1w', '1M', '1Q', '1Y')
GROUP BY symbol, region, unit,
  date_trunc(CASE period WHEN '1w' THEN 'week' WHEN '1M' THEN 'month' WHEN '1Q' THEN 'quarter' ELSE 'year' END, trade_date)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
WHERE CASE
    WHEN period NOT IN ('1m', '5m', '10m', '15m', '30m', '60m', '1d', '1w', '1M', '1Q', '1Y')
      THEN error('period "' || period || '" is none of 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q, 1Y')
    WHEN adjustment NOT IN ('forward', 'backward', 'forward_additive', 'backward_additive', 'none')
      THEN error('adjustment "' || adjustment || '" is none of forward, backward, forward_additive, backward_additive, none')
    ELSE false
  END;

COMMENT ON MACRO TABLE adjusted IS 'Bars of any period and adjustment, as the service returns them. One row a symbol and bar. A row may change when later data arrives: forward prices with each new ex-event (not with as_of), the newest bar of a period while it runs.
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Nothing after this date is seen, neither bars nor ex-events; null: everything. [date]
-> symbol: Instrument symbol.
-> trade_date: Trading date in the exchange''s own zone; of weeks and longer, the last one in them.
-> timestamp: End of the minutes; of days, midnight of the trading date in the exchange''s zone; of weeks and longer, of their last trading date. [UTC]
-> open: First price. [currency]
-> high: Highest price. [currency]
-> low: Lowest price. [currency]
-> close: Last price. [currency]
-> volume: Traded volume in the region''s unit, rounded half up, not adjusted. [lot shares]
-> amount: Traded amount, not adjusted; 0 beside a volume above 0: the source reports none. [currency]
-> prev_close: Previous close as the exchange states it, of the first bar. [currency]
-> open_interest: Open contracts at the end (futures). [contracts]
-> settlement_price: Settlement price at the end (futures). [currency]
-> lot: Shares in one unit of volume: 100 in CN, else 1. [shares]
-> shares: Traded volume, not adjusted. [shares]
-> landed_bars: How many landed bars it is made of. [bars]
-> is_final: False while one of them may still change.
-> region: Region: CN, HK or US.';
