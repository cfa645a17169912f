-- # Screen
-- Stocks of one region that are cheap, growing and rising, by what was known on a date.
--
-- A stock passes if its price to book is at most `price_to_book`, its revenue since the start of its fiscal year is by at least
-- `revenue_growth` above that of the year before, and its `momentum` (the return of the twelve months before the newest month, about
-- 231 sessions up to 21 sessions ago) is at least the one given. All three are read **at the end of** `as_of`: bars and ex-events up
-- to it, and statements and numbers of shares that were announced by then. A stock whose number of shares was only seen later has no price to book
-- here, one that did not trade on a session of its momentum has no momentum, and neither passes. A name is shown if the lake had seen it by then;
-- which instruments are stocks is taken from the first snapshot before it. Growth and momentum are ratios: 0.1 is 10 %.
-- %% param region = coalesce((SELECT region FROM bars_1d GROUP BY region ORDER BY count(*) DESC LIMIT 1), 'CN') options=(SELECT DISTINCT region FROM bars_1d ORDER BY region)
-- %% param as_of = (SELECT max(trade_date) FROM bars_1d)
-- %% param price_to_book = 3::DOUBLE min=0
-- %% param revenue_growth = 0::DOUBLE
-- %% param momentum = 0::DOUBLE

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

-- %% figures empty="This lake has no stock of the region that traded by then: run the pipeline daily, or choose a later date."
SELECT max(trade_date) AS session, count(*) AS stocks, count(price_to_book) AS with_price_to_book,
  count(revenue_growth) AS with_revenue_growth, count(momentum) AS with_momentum,
  count(*) FILTER (is_cheap AND is_growing AND is_rising) AS passed
FROM screened
HAVING count(*) > 0;

-- %% table percent=revenue_growth,momentum,return_on_equity rows=100 title="Stocks that pass, the cheapest first" empty="No stock passes: permit a higher price to book, or less growth or momentum."
SELECT symbol, name, price_to_book, revenue_growth, momentum, return_on_equity, close, market_value / 1e6 AS market_value_millions,
  balance_sheet_period_end AS balance_sheet, income_period_end AS income
FROM screened
WHERE is_cheap AND is_growing AND is_rising
ORDER BY price_to_book, symbol;

-- %% chart bar x=condition y=stocks height=220 title="Stocks that are left after each condition" empty="No stock traded by then."
-- ## Conditions
SELECT condition, stocks
FROM (
  SELECT count(*) AS total, count(*) FILTER (is_cheap) AS cheap, count(*) FILTER (is_cheap AND is_growing) AS growing,
    count(*) FILTER (is_cheap AND is_growing AND is_rising) AS rising
  FROM screened
) AS counts,
LATERAL (VALUES ('1 stocks', total), ('2 and cheap', cheap), ('3 and growing', growing), ('4 and rising', rising)) AS steps (condition, stocks)
WHERE total > 0
ORDER BY condition;

-- %% chart scatter x=price_to_book y=momentum color=passes label=symbol percent=momentum rule=0 height=320 title="Price to book and momentum; the tenth with the highest price to book is left out" empty="No stock has both: momentum wants 252 sessions of daily bars, price to book balance sheets and share counts."
SELECT symbol, price_to_book, momentum,
  CASE WHEN is_cheap AND is_growing AND is_rising THEN 'passes' ELSE 'does not pass' END AS passes
FROM screened
WHERE price_to_book IS NOT NULL AND momentum IS NOT NULL
QUALIFY percent_rank() OVER (ORDER BY price_to_book) <= 0.9
ORDER BY passes, symbol;

-- %% chart histogram x=revenue_growth percent=revenue_growth bins=30 height=220 title="Revenue growth of the region's stocks, those above 200 % left out" empty="No stock has a revenue of two years that was known by then."
SELECT revenue_growth
FROM screened
WHERE revenue_growth BETWEEN -1 AND 2;
