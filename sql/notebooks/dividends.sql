-- # Dividends and splits
-- What one instrument has paid and how its shares were divided, and what both did to its prices.
--
-- `symbol` chooses it (by default the one that was traded most in the newest week, of those with corporate actions), `years` the
-- length of the charts. Where several sources state the actions of a day, those of the source that the lake saw first are taken.
-- Dividends are summed in shares of one date: a dividend of 0.80 before a split of 4 for 1 is 0.20 for a share after it.
-- zh: # 分红与拆股
-- zh: 一只标的分过多少红、股份如何拆分，以及两者对价格的影响。
-- zh:
-- zh: `symbol` 选择标的（默认为有公司行动的标的中最近一周成交额最大的），`years` 为图表的年数。同一天的公司行动有多个来源时，取数据湖最先见到的来源。分红按同一日期的股份折算后相加：一拆四之前每股 0.80 的分红，相当于拆股后每股 0.20。
-- %% param symbol = (SELECT symbol FROM bars_1d WHERE trade_date > (SELECT max(trade_date) FROM bars_1d) - 7 GROUP BY symbol ORDER BY symbol IN (SELECT symbol FROM corporate_actions) DESC, sum(amount) DESC NULLS LAST, symbol LIMIT 1)
-- %% param years = 10 min=1 max=100
-- %% names.zh symbol=代码 name=名称 trade_date=交易日 close=收盘价 source=来源 announce_date=公告日 ex_date=除权日 years=年数
-- %% names.zh newest_day=最新日 dividends_of_12_months=十二个月分红 dividend_yield=股息率 first_dividend=首次分红 last_dividend=最近分红
-- %% names.zh splits=拆股送股次数 prices=价格 ex_events=除权除息次数 "as traded: no ex-event is known"=成交价：未知任何除权除息
-- %% names.zh "adjusted by its ex-events"=按除权除息前复权 price=价格 series=系列 "as traded"=不复权 "adjusted forward"=前复权 year=年份
-- %% names.zh dividends=分红 cash=每股派息 currency=货币 close_before=除权前收盘 yield=股息率 pay_date=派息日 kind=类型 ratio=比率 shares=折合股数

-- %%
CREATE OR REPLACE TEMP TABLE closes AS
SELECT trade_date, close FROM bars_1d WHERE symbol = $symbol AND close > 0;
CREATE OR REPLACE TEMP TABLE actions AS
FROM corporate_actions
SEMI JOIN (SELECT DISTINCT ON (ex_date) ex_date, source FROM corporate_action_versions WHERE symbol = $symbol ORDER BY ex_date, first_seen_at, source)
  USING (ex_date, source)
WHERE symbol = $symbol;
-- What one share of the evening before an ex-date has become on it (after / before), with one share of the first day as 1.
CREATE OR REPLACE TEMP TABLE ex_days AS
SELECT *, coalesce(product(shares) OVER (ORDER BY ex_date ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS before,
  product(shares) OVER (ORDER BY ex_date) AS after
FROM (
  SELECT ex_date, coalesce(sum(cash) FILTER (kind = 'cash_dividend'), 0) AS cash, any_value(currency) AS currency,
    coalesce(max(ratio) FILTER (kind = 'split'), 1) * coalesce(max(ratio) FILTER (kind = 'consolidation'), 1)
      + coalesce(max(ratio) FILTER (kind = 'stock_dividend'), 0) AS shares
  FROM actions
  GROUP BY ex_date
);
-- The dividends of the year up to each day of a bar, for a share of that day.
CREATE OR REPLACE TEMP TABLE yearly AS
SELECT trade_date, close, coalesce(sum(e.cash * e.before), 0) / coalesce(any_value(latest.after), 1) AS dividends
FROM closes AS c
ASOF LEFT JOIN ex_days AS latest ON latest.ex_date <= c.trade_date
LEFT JOIN (FROM ex_days WHERE cash > 0) AS e ON e.ex_date <= c.trade_date AND e.ex_date > c.trade_date - INTERVAL 1 YEAR
GROUP BY trade_date, close;

-- %% figures percent=dividend_yield empty="This lake has no daily bar of the symbol: choose another with --param symbol=AAPL.US." empty.zh="数据湖没有该标的的日线：用 --param symbol=AAPL.US 选择其他标的。"
SELECT $symbol AS symbol, (SELECT name FROM instruments WHERE symbol = $symbol) AS name, trade_date AS newest_day, close,
  CASE WHEN first_dividend IS NOT NULL THEN dividends END AS dividends_of_12_months,
  CASE WHEN first_dividend IS NOT NULL THEN dividends / close END AS dividend_yield,
  first_dividend,
  (SELECT max(ex_date) FROM ex_days WHERE cash > 0 AND ex_date <= trade_date) AS last_dividend,
  (SELECT count(*) FROM ex_days WHERE shares != 1 AND ex_date <= trade_date) AS splits,
  (SELECT count(*) FROM ex_events WHERE symbol = $symbol) AS ex_events,
  (SELECT CASE count(*) WHEN 0 THEN 'as traded: no ex-event is known' ELSE 'adjusted by its ex-events' END FROM ex_events WHERE symbol = $symbol) AS prices
FROM yearly, (SELECT min(ex_date) AS first_dividend FROM ex_days WHERE cash > 0)
ORDER BY trade_date DESC
LIMIT 1;

-- %% chart line x=trade_date y=price color=series height=360 log=y title="Close as traded, and as its ex-events leave it" title.zh="收盘价：不复权与前复权" empty="No daily bar of the symbol." empty.zh="没有该标的的日线。"
-- ## Prices
-- Prices before an ex-event are divided by its factor, so that the newest ones are as traded. Without a known ex-event there is only
-- the close as traded.
-- zh: ## 价格
-- zh: 除权除息前的价格除以复权因子，最新价格为成交价。未知任何除权除息时，只有成交价。
SELECT trade_date, close AS price, 'as traded' AS series
FROM closes
WHERE trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
UNION ALL
SELECT trade_date, close, 'adjusted forward'
FROM adjusted('1d', 'forward')
WHERE symbol = $symbol AND close > 0 AND symbol IN (SELECT symbol FROM ex_events WHERE symbol = $symbol)
  AND trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
ORDER BY trade_date, series DESC;

-- %% chart line x=trade_date y=dividend_yield percent=dividend_yield height=240 title="Dividends of the twelve months before, over the close" title.zh="过去十二个月的分红与收盘价之比" empty="The lake knows no year of dividends of the symbol: barlake import corporate_actions brings them." empty.zh="数据湖没有该标的满一年的分红：用 barlake import corporate_actions 导入。"
-- ## Dividends
-- From a year after the first dividend that the lake knows.
-- zh: ## 分红
-- zh: 自数据湖已知的首次分红满一年起。
SELECT trade_date, dividends / close AS dividend_yield
FROM yearly
WHERE trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
  AND trade_date >= (SELECT min(ex_date) + INTERVAL 1 YEAR FROM ex_days WHERE cash > 0)
ORDER BY trade_date;

-- %% chart bar x=year y=dividends height=240 title="Dividends a year, for a share of the newest day" title.zh="每年分红（按最新一日的一股折算）" empty="The lake has no dividend of the symbol: barlake import corporate_actions brings them." empty.zh="数据湖没有该标的的分红：用 barlake import corporate_actions 导入。"
SELECT CAST(year(e.ex_date) AS VARCHAR) AS year, sum(e.cash * e.before) / coalesce(any_value(now.after), 1) AS dividends
FROM ex_days AS e
LEFT JOIN (FROM ex_days WHERE ex_date <= (SELECT max(trade_date) FROM closes) ORDER BY ex_date DESC LIMIT 1) AS now ON true
WHERE e.cash > 0 AND e.ex_date <= (SELECT max(trade_date) FROM closes)
  AND e.ex_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
GROUP BY 1
ORDER BY 1;

-- %% table percent=yield rows=20 title="Dividends a share" title.zh="每股分红" empty="The lake has no dividend of the symbol: barlake import corporate_actions brings them." empty.zh="数据湖没有该标的的分红：用 barlake import corporate_actions 导入。"
SELECT a.ex_date, a.cash, a.currency, c.close AS close_before, a.cash / c.close AS yield, a.announce_date, a.pay_date, a.source
FROM actions AS a
ASOF LEFT JOIN closes AS c ON c.trade_date < a.ex_date
WHERE a.kind = 'cash_dividend'
ORDER BY a.ex_date DESC;

-- %% table rows=20 title="Splits, stock dividends, rights and others" title.zh="拆股、送股、配股及其他" empty="The lake has none of the symbol: barlake import corporate_actions brings them." empty.zh="数据湖没有该标的的这类记录：用 barlake import corporate_actions 导入。"
-- ## Splits
-- The ratio is, of a split or consolidation, the shares after it for one before; of stock dividends and rights the shares in addition.
-- `shares` is what one share of the first day has become.
-- zh: ## 拆股
-- zh: 比率：拆股或合股为变动后每一股对应的股数，送股和配股为每股增加的股数。`shares` 为首日的一股变成的股数。
SELECT a.ex_date, a.kind, a.ratio, a.price, e.after AS shares, a.announce_date, a.source
FROM actions AS a
JOIN ex_days AS e USING (ex_date)
WHERE a.kind != 'cash_dividend'
ORDER BY a.ex_date DESC;
