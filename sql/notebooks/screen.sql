-- # Screen
-- Stocks of one region that are cheap, growing and rising, by what was known on a date.
--
-- A stock passes if its price to book is at most `price_to_book`, its revenue since the start of its fiscal year is by at least
-- `revenue_growth` above that of the year before, and its `momentum` (the return of the twelve months before the newest month, about
-- 231 sessions up to 21 sessions ago) is at least the one given. All three are read **at the end of** `as_of`: bars and ex-events up
-- to it, and statements and numbers of shares that were announced by then. A stock whose number of shares was only seen later has no price to book
-- here, one that did not trade on a session of its momentum has no momentum, and neither passes. A name is shown if the lake had seen it by then;
-- which instruments are stocks is taken from the first snapshot before it. Growth and momentum are ratios: 0.1 is 10 %.
-- zh: # 选股
-- zh: 一个地区中估值低、在增长、在上涨的股票，按某日已知的内容。
-- zh:
-- zh: 入选条件：市净率不高于 `price_to_book`；财年年初以来的营业收入比上年同期增长不低于 `revenue_growth`；`momentum`（最近一个月之前的十二个月收益率，约从 252 个交易日前到 21 个交易日前）不低于给定值。三者都按 `as_of` **当日收盘后**的内容：截至该日的K线与除权除息，以及当时已公布的财报和股本。股本之后才首次见到的股票没有市净率，动量区间端点没有交易的股票没有动量，两者都不入选。名称只在数据湖当时已见过时显示；哪些标的是股票取自此前的首次快照。增长和动量为比率：0.1 即 10%。
-- %% param region = coalesce((SELECT region FROM bars_1d GROUP BY region ORDER BY count(*) DESC LIMIT 1), 'CN') options=(SELECT DISTINCT region FROM bars_1d ORDER BY region)
-- %% param as_of = (SELECT max(trade_date) FROM bars_1d)
-- %% param price_to_book = 3::DOUBLE min=0
-- %% param revenue_growth = 0::DOUBLE
-- %% param momentum = 0::DOUBLE
-- %% names.zh symbol=代码 name=名称 region=地区 close=收盘价 price_to_book=市净率 as_of=截至 revenue_growth=营收增长 momentum=动量
-- %% names.zh session=交易日 stocks=股票数 with_price_to_book=有市净率 with_revenue_growth=有营收增长 with_momentum=有动量 passed=入选
-- %% names.zh return_on_equity=净资产收益率 market_value_millions=总市值（百万） balance_sheet=资产负债表 income=利润表 condition=条件
-- %% names.zh "1 stocks"="1 全部股票" "2 and cheap"="2 且估值低" "3 and growing"="3 且在增长" "4 and rising"="4 且在上涨" passes=入选
-- %% names.zh "does not pass"=未入选

-- %%
CREATE OR REPLACE TEMP TABLE sessions AS
SELECT trade_date, row_number() OVER (ORDER BY trade_date DESC) - 1 AS ago
FROM (SELECT DISTINCT trade_date FROM bars_1d WHERE region = $region AND trade_date <= CAST($as_of AS DATE))
QUALIFY ago IN (0, 21, 252);

CREATE OR REPLACE TEMP TABLE screened AS
WITH stocks AS (
  SELECT symbol, CASE WHEN known = 'observed' THEN name END AS name
  FROM instruments_asof($as_of)
  WHERE region = $region AND type = 'stock'
),
closes AS (
  SELECT a.symbol,
    max(a.close) FILTER (s.ago = 21) AS month_ago,
    max(a.close) FILTER (s.ago = 252) AS year_ago
  FROM adjusted('1d', 'backward', CAST($as_of AS DATE)) AS a
  JOIN sessions AS s ON s.trade_date = a.trade_date
  WHERE a.region = $region
  GROUP BY a.symbol
),
valued AS (
  SELECT symbol, trade_date, close, revenue_yoy AS revenue_growth, return_on_equity, balance_sheet_period_end, income_period_end,
    CASE WHEN known <> 'assumed' THEN market_value END AS market_value,
    CASE WHEN known <> 'assumed' THEN price_to_book END AS price_to_book
  FROM daily_valuation
  WHERE region = $region AND trade_date = (SELECT trade_date FROM sessions WHERE ago = 0)
)
SELECT v.*, s.name, c.month_ago / nullif(c.year_ago, 0) - 1 AS momentum,
  coalesce(v.price_to_book <= $price_to_book, false) AS is_cheap,
  coalesce(v.revenue_growth >= $revenue_growth, false) AS is_growing,
  coalesce(c.month_ago / nullif(c.year_ago, 0) - 1 >= $momentum, false) AS is_rising
FROM valued AS v
JOIN stocks AS s USING (symbol)
LEFT JOIN closes AS c USING (symbol);

-- %% figures empty="This lake has no stock of the region that traded by then: run the pipeline daily, or choose a later date." empty.zh="数据湖没有该地区截至当时有交易的股票：运行流水线 daily，或选择更晚的日期。"
SELECT max(trade_date) AS session, count(*) AS stocks, count(price_to_book) AS with_price_to_book,
  count(revenue_growth) AS with_revenue_growth, count(momentum) AS with_momentum,
  count(*) FILTER (is_cheap AND is_growing AND is_rising) AS passed
FROM screened
HAVING count(*) > 0;

-- %% table percent=revenue_growth,momentum,return_on_equity rows=100 title="Stocks that pass, the cheapest first" title.zh="入选股票（市净率从低到高）" empty="No stock passes: permit a higher price to book, or less growth or momentum." empty.zh="没有股票入选：放宽市净率，或降低营收增长或动量的要求。"
SELECT symbol, name, price_to_book, revenue_growth, momentum, return_on_equity, close, market_value / 1e6 AS market_value_millions,
  balance_sheet_period_end AS balance_sheet, income_period_end AS income
FROM screened
WHERE is_cheap AND is_growing AND is_rising
ORDER BY price_to_book, symbol;

-- %% chart bar x=condition y=stocks height=220 title="Stocks that are left after each condition" title.zh="逐个条件后剩余的股票" empty="No stock traded by then." empty.zh="截至当时没有交易的股票。"
-- ## Conditions
-- zh: ## 条件
SELECT condition, stocks
FROM (
  SELECT count(*) AS total, count(*) FILTER (is_cheap) AS cheap, count(*) FILTER (is_cheap AND is_growing) AS growing,
    count(*) FILTER (is_cheap AND is_growing AND is_rising) AS rising
  FROM screened
) AS counts,
LATERAL (VALUES ('1 stocks', total), ('2 and cheap', cheap), ('3 and growing', growing), ('4 and rising', rising)) AS steps (condition, stocks)
WHERE total > 0
ORDER BY condition;

-- %% chart scatter x=price_to_book y=momentum color=passes label=symbol percent=momentum rule=0 height=320 title="Price to book and momentum; the tenth with the highest price to book is left out" title.zh="市净率与动量（略去市净率最高的十分之一）" empty="No stock has both: momentum wants 252 sessions of daily bars, price to book balance sheets and share counts." empty.zh="没有同时具备两者的股票：动量需要 252 个交易日的日线，市净率需要资产负债表和股本。"
SELECT symbol, price_to_book, momentum,
  CASE WHEN is_cheap AND is_growing AND is_rising THEN 'passes' ELSE 'does not pass' END AS passes
FROM screened
WHERE price_to_book IS NOT NULL AND momentum IS NOT NULL
QUALIFY percent_rank() OVER (ORDER BY price_to_book) <= 0.9
ORDER BY passes, symbol;

-- %% chart histogram x=revenue_growth percent=revenue_growth bins=30 height=220 title="Revenue growth of the region's stocks, those above 200 % left out" title.zh="该地区股票的营收增长（略去高于 200% 的）" empty="No stock has a revenue of two years that was known by then." empty.zh="没有当时已知两年营业收入的股票。"
SELECT revenue_growth
FROM screened
WHERE revenue_growth BETWEEN -1 AND 2;
