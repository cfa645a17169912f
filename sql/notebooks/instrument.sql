-- # Instrument
-- One instrument: prices and volume, statements, and what they are worth.
--
-- `symbol` chooses it (by default the one that was traded most on the newest day), `days` the number of trading days in
-- the charts. Prices before a split or dividend are divided by its factor, so that the newest ones are as traded; `prices` says
-- whether any is known.
-- %% param symbol = (SELECT arg_max(symbol, amount) FROM bars_1d WHERE trade_date > (SELECT max(trade_date) FROM bars_1d) - 7)
-- %% param days = 250

-- %% figures percent=day_return,year_return,return_since_first_day empty="This lake has no daily bar of the symbol: choose another with --param symbol=600519.SH."
WITH bars AS (
  SELECT * FROM returns WHERE symbol = $symbol
)
SELECT
  $symbol AS symbol,
  (SELECT name FROM instruments WHERE symbol = $symbol) AS name,
  max(trade_date) AS newest_day,
  arg_max(close, trade_date) AS close,
  arg_max(simple_return, trade_date) AS day_return,
  -- A return of a year needs a bar of a year ago.
  CASE WHEN min(trade_date) <= max(trade_date) - INTERVAL 1 YEAR
    THEN exp(sum(log_return) FILTER (trade_date > (SELECT max(trade_date) FROM bars) - INTERVAL 1 YEAR)) - 1 END AS year_return,
  min(trade_date) AS first_day,
  exp(sum(log_return)) - 1 AS return_since_first_day,
  (SELECT CASE count(*) WHEN 0 THEN 'as traded: no ex-event is known' WHEN 1 THEN 'adjusted by 1 ex-event' ELSE 'adjusted by ' || count(*) || ' ex-events' END FROM ex_events WHERE symbol = $symbol) AS prices
FROM bars
HAVING count(*) > 0;

-- %% chart candlestick x=trade_date lines=ma_20,ma_60 height=460 title="Daily bars" empty="No daily bar of the symbol."
SELECT symbol, trade_date, open, high, low, close, volume, ma_20, ma_60
FROM (
  SELECT *,
    CASE WHEN count(*) OVER (ORDER BY trade_date ROWS 19 PRECEDING) = 20 THEN avg(close) OVER (ORDER BY trade_date ROWS 19 PRECEDING) END AS ma_20,
    CASE WHEN count(*) OVER (ORDER BY trade_date ROWS 59 PRECEDING) = 60 THEN avg(close) OVER (ORDER BY trade_date ROWS 59 PRECEDING) END AS ma_60
  FROM adjusted('1d', 'forward')
  WHERE symbol = $symbol AND volume > 0
)
ORDER BY trade_date DESC
LIMIT $days;

-- %% chart line x=trade_date y=volatility percent=volatility height=200 title="Volatility over 20 days, annualized" empty="Fewer than 20 daily bars of the symbol."
SELECT trade_date, volatility
FROM (
  SELECT trade_date,
    CASE WHEN count(log_return) OVER w = 20 THEN stddev_samp(log_return) OVER w * sqrt(244) END AS volatility
  FROM returns
  WHERE symbol = $symbol
  WINDOW w AS (ORDER BY trade_date ROWS 19 PRECEDING)
)
WHERE volatility IS NOT NULL
ORDER BY trade_date DESC
LIMIT $days;

-- %% chart line x=trade_date y=price_to_book height=220 title="Price to book" empty="No day is valued: the lake has no share count of the symbol, or no balance sheet that was known by then. The pipelines reference and financials bring them."
-- ## Valuation
-- Each day is valued by the statements that had been announced by then.
SELECT trade_date, price_to_book
FROM daily_valuation
WHERE symbol = $symbol AND price_to_book IS NOT NULL
ORDER BY trade_date;

-- %% table percent=cash_flow_yield,free_cash_flow_yield,debt_to_assets rows=12 title="Value at the end of each month" empty="On no day of its bars was a balance sheet of the symbol known."
SELECT trade_date, close, market_value / 1e6 AS market_value_millions, price_to_book, cash_flow_yield, free_cash_flow_yield,
  debt_to_assets, balance_sheet_period_end AS reported
FROM daily_valuation
WHERE symbol = $symbol AND balance_sheet_period_end IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY date_trunc('month', trade_date) ORDER BY trade_date DESC) = 1
ORDER BY trade_date DESC;

-- %% chart bar x=quarter y=millions color=flow height=260 title="Operating and free cash flow of twelve months, millions" empty="The lake has no cash flow statement of the symbol: run the pipeline financials."
-- ## Statements
WITH known AS (
  SELECT month, operating_cash_flow_ttm / 1e6 AS operating, free_cash_flow_ttm / 1e6 AS free
  FROM statements_asof(NULL)
  WHERE symbol = $symbol AND operating_cash_flow_ttm IS NOT NULL
  ORDER BY month DESC
  LIMIT 8
)
UNPIVOT (SELECT strftime(month, '%Y-%m') AS quarter, operating, free FROM known ORDER BY month) ON operating, free INTO NAME flow VALUE millions
ORDER BY quarter, flow DESC;

-- %% table percent=debt_to_assets,total_assets_yoy,book_value_yoy rows=12 title="Balance sheets" empty="The lake has no balance sheet of the symbol: run the pipeline financials."
SELECT balance_sheet_period_end AS period_end, balance_sheet_known_from AS known_from,
  total_assets / 1e6 AS total_assets_millions, total_liabilities / 1e6 AS total_liabilities_millions,
  book_value / 1e6 AS book_value_millions, debt_to_assets, current_ratio, total_assets_yoy, book_value_yoy
FROM statements_asof(NULL)
WHERE symbol = $symbol AND balance_sheet_period_end IS NOT NULL
ORDER BY period_end DESC;

-- %% table percent=step title="Splits and dividends" rows=20 empty="No ex-event is known: prices are as traded."
SELECT ex_date, last_close, factor, amount, 1 / factor - 1 AS step, witness, source
FROM ex_events
WHERE symbol = $symbol
ORDER BY ex_date DESC;
