-- # Instrument
-- One instrument: prices and volume, statements, and what they are worth.
--
-- `symbol` chooses it (by default the one that was traded most on the newest day), `days` the number of trading days in
-- the charts. Prices before a split or dividend are divided by its factor, so that the newest ones are as traded; `prices` says
-- whether any is known.
-- zh: # 标的
-- zh: 一只标的：价格与成交量、财务报表及估值。
-- zh:
-- zh: `symbol` 选择标的（默认为最近一周单日成交额最大的），`days` 为图表的交易日数。除权除息前的价格除以复权因子，最新价格为成交价；`prices` 说明是否已知任何除权除息。
-- %% param symbol = (SELECT arg_max(symbol, amount) FROM bars_1d WHERE trade_date > (SELECT max(trade_date) FROM bars_1d) - 7)
-- %% param days = 250
-- %% names.zh symbol=代码 name=名称 trade_date=交易日 close=收盘价 price_to_book=市净率 source=来源 ex_date=除权日 period_end=报告期 days=天数
-- %% names.zh newest_day=最新日 day_return=日涨跌幅 year_return=一年收益 first_day=首日 return_since_first_day=首日以来收益 prices=价格
-- %% names.zh ex_events=除权除息次数 "as traded: no ex-event is known"=成交价：未知任何除权除息 "adjusted by its ex-events"=按除权除息前复权
-- %% names.zh open=开盘价 high=最高价 low=最低价 volume=成交量 ma_20="20 日均线" ma_60="60 日均线" volatility=波动率
-- %% names.zh market_value_millions=总市值（百万） cash_flow_yield=经营现金流收益率 free_cash_flow_yield=自由现金流收益率 debt_to_assets=资产负债率
-- %% names.zh reported=报告期 quarter=季度 millions=百万 flow=现金流 operating=经营 free=自由 known_from=获知日
-- %% names.zh total_assets_millions=总资产（百万） total_liabilities_millions=总负债（百万） book_value_millions=净资产（百万）
-- %% names.zh current_ratio=流动比率 total_assets_yoy=总资产同比 book_value_yoy=净资产同比 last_close=前收盘 factor=复权因子 amount=价差
-- %% names.zh step=价格变动 witness=依据

-- %% figures percent=day_return,year_return,return_since_first_day empty="This lake has no daily bar of the symbol: choose another with --param symbol=600519.SH." empty.zh="数据湖没有该标的的日线：用 --param symbol=600519.SH 选择其他标的。"
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
  (SELECT count(*) FROM ex_events WHERE symbol = $symbol) AS ex_events,
  (SELECT CASE count(*) WHEN 0 THEN 'as traded: no ex-event is known' ELSE 'adjusted by its ex-events' END FROM ex_events WHERE symbol = $symbol) AS prices
FROM bars
HAVING count(*) > 0;

-- %% chart candlestick x=trade_date lines=ma_20,ma_60 height=460 title="Daily bars" title.zh="日线" empty="No daily bar of the symbol." empty.zh="没有该标的的日线。"
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

-- %% chart line x=trade_date y=volatility percent=volatility height=200 title="Volatility over 20 days, annualized" title.zh="20 日波动率（年化）" empty="Fewer than 20 daily bars of the symbol." empty.zh="该标的的日线不足 20 根。"
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

-- %% chart line x=trade_date y=price_to_book height=220 title="Price to book" title.zh="市净率" empty="No day is valued: the lake has no share count of the symbol, or no balance sheet that was known by then. The pipelines reference and financials bring them." empty.zh="没有可估值的日期：数据湖没有该标的的股本，或没有当时已知的资产负债表。流水线 reference 和 financials 会获取。"
-- ## Valuation
-- Each day is valued by the statements that had been announced by then.
-- zh: ## 估值
-- zh: 每日按当时已公布的财报估值。
SELECT trade_date, price_to_book
FROM daily_valuation
WHERE symbol = $symbol AND price_to_book IS NOT NULL
ORDER BY trade_date;

-- %% table percent=cash_flow_yield,free_cash_flow_yield,debt_to_assets rows=12 title="Value at the end of each month" title.zh="每月末的估值" empty="On no day of its bars was a balance sheet of the symbol known." empty.zh="该标的有K线的日期都没有已知的资产负债表。"
SELECT trade_date, close, market_value / 1e6 AS market_value_millions, price_to_book, cash_flow_yield, free_cash_flow_yield,
  debt_to_assets, balance_sheet_period_end AS reported
FROM daily_valuation
WHERE symbol = $symbol AND balance_sheet_period_end IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY date_trunc('month', trade_date) ORDER BY trade_date DESC) = 1
ORDER BY trade_date DESC;

-- %% chart bar x=quarter y=millions color=flow height=260 title="Operating and free cash flow of twelve months, millions" title.zh="过去十二个月的经营现金流与自由现金流（百万）" empty="The lake has no cash flow statement of the symbol: run the pipeline financials." empty.zh="数据湖没有该标的的现金流量表：运行流水线 financials。"
-- ## Statements
-- zh: ## 财务报表
WITH known AS (
  SELECT month, operating_cash_flow_ttm / 1e6 AS operating, free_cash_flow_ttm / 1e6 AS free
  FROM statements_asof(NULL)
  WHERE symbol = $symbol AND operating_cash_flow_ttm IS NOT NULL
  ORDER BY month DESC
  LIMIT 8
)
UNPIVOT (SELECT strftime(month, '%Y-%m') AS quarter, operating, free FROM known ORDER BY month) ON operating, free INTO NAME flow VALUE millions
ORDER BY quarter, flow DESC;

-- %% table percent=debt_to_assets,total_assets_yoy,book_value_yoy rows=12 title="Balance sheets" title.zh="资产负债表" empty="The lake has no balance sheet of the symbol: run the pipeline financials." empty.zh="数据湖没有该标的的资产负债表：运行流水线 financials。"
SELECT balance_sheet_period_end AS period_end, balance_sheet_known_from AS known_from,
  total_assets / 1e6 AS total_assets_millions, total_liabilities / 1e6 AS total_liabilities_millions,
  book_value / 1e6 AS book_value_millions, debt_to_assets, current_ratio, total_assets_yoy, book_value_yoy
FROM statements_asof(NULL)
WHERE symbol = $symbol AND balance_sheet_period_end IS NOT NULL
ORDER BY period_end DESC;

-- %% table percent=step title="Splits and dividends" title.zh="除权除息" rows=20 empty="No ex-event is known: prices are as traded." empty.zh="未知任何除权除息：价格为成交价。"
SELECT ex_date, last_close, factor, amount, 1 / factor - 1 AS step, witness, source
FROM ex_events
WHERE symbol = $symbol
ORDER BY ex_date DESC;
