-- Landed bars in the form from which bars of any period are made. For aggregates, prices that a feed set to 0 in a bar
-- without trades are replaced by the bar's close (stated_price).
-- Grain: one row for each symbol and landed bar. Inputs: the named table.
CREATE OR REPLACE MACRO unadjusted_bars(bars, is_part) AS TABLE
SELECT
  symbol,
  "timestamp",
  trade_date,
  CASE WHEN is_part THEN stated_price(open, close) ELSE open END AS open,
  CASE WHEN is_part THEN stated_price(high, close) ELSE high END AS high,
  CASE WHEN is_part THEN stated_price(low, close) ELSE low END AS low,
  close,
  volume,
  CAST(volume AS HUGEINT) * lot AS shares,
  amount,
  open_interest,
  prev_close,
  settlement_price,
  lot,
  region_lot(region) AS unit,
  is_final,
  region
FROM query_table(bars);

COMMENT ON MACRO TABLE unadjusted_bars IS 'Landed bars as they become bars of any period: what adjusted is made of where nothing is adjusted. One row for each symbol and landed bar.
bars: raw.bars_1m or raw.bars_1d, as a text.
is_part: Whether the bars become parts of longer ones: the close then replaces prices that are 0.';
