-- # Market overview
-- One region's market on its newest trading day, and the days before.
--
-- `region` chooses the market: CN, HK or US. Returns are measured from the exchange's previous close, which is adjusted
-- for splits and dividends. The market's return is the mean of its stocks' returns; stocks that did not trade do not
-- count. Turnover is the amount; of bars without one, the close times the shares.
-- zh: # 市场概览
-- zh: 一个地区的市场：最新交易日及此前各日。
-- zh:
-- zh: `region` 选择市场：CN、HK 或 US。收益率以交易所公布的昨收为基准，昨收已按除权除息调整。市场收益为股票收益率的平均值；没有交易的股票不计入。成交额取公布值；K线没有成交额时，为收盘价乘以股数。
-- %% param region = coalesce((SELECT region FROM bars_1d GROUP BY region ORDER BY count(*) DESC LIMIT 1), 'CN') options=(SELECT unnest(['CN', 'HK', 'US']))
-- %% param days = 250
-- %% names.zh symbol=代码 name=名称 region=地区 trade_date=交易日 close=收盘价 month=月份 days=天数 trading_day=交易日
-- %% names.zh stocks_traded=有交易的股票 mean_return=平均涨跌幅 advancing=上涨 declining=下跌 "turnover, millions"=成交额（百万） level=指数
-- %% names.zh ma_20="20 日均线" turnover_millions=成交额（百万） above_ma_50="高于 50 日均线" day_return=日涨跌幅 month_return=月涨跌幅
-- %% names.zh year=年份 market_return=市场收益

-- %%
CREATE OR REPLACE TEMP TABLE market AS
SELECT r.symbol, i.name, r.trade_date, r.close, r.simple_return,
  CASE WHEN b.amount > 0 THEN b.amount ELSE b.close * b.shares END AS turnover
FROM returns AS r
JOIN bars_1d AS b USING (symbol, trade_date)
LEFT JOIN instruments AS i ON i.symbol = r.symbol
WHERE r.region = $region AND b.region = $region AND b.volume > 0 AND coalesce(i.type, 'stock') = 'stock'
  AND r.trade_date IN (SELECT DISTINCT trade_date FROM bars_1d WHERE region = $region ORDER BY trade_date DESC LIMIT $days);

-- %% figures percent=mean_return empty="This lake has no daily bars of the region: run a pipeline of daily bars, import some, or choose another with --param region=US." empty.zh="数据湖没有该地区的日线：运行日线流水线或导入，或用 --param region=US 选择其他地区。"
SELECT
  max(trade_date) AS trading_day,
  count(*) AS stocks_traded,
  avg(simple_return) AS mean_return,
  count(*) FILTER (simple_return > 0) AS advancing,
  count(*) FILTER (simple_return < 0) AS declining,
  round(sum(turnover) / 1e6) AS "turnover, millions"
FROM market
WHERE trade_date = (SELECT max(trade_date) FROM market)
HAVING count(*) > 0;

-- %% chart line x=trade_date y=level,ma_20 title="Equally weighted market, first day = 100" title.zh="等权市场指数（首日 = 100）" empty="No daily bars of the region." empty.zh="没有该地区的日线。"
WITH daily AS (
  SELECT trade_date, avg(simple_return) AS mean_return FROM market GROUP BY trade_date
), levels AS (
  SELECT trade_date, 100 * exp(sum(ln(1 + coalesce(mean_return, 0))) OVER (ORDER BY trade_date)) AS level FROM daily
)
SELECT trade_date, level, avg(level) OVER (ORDER BY trade_date ROWS 19 PRECEDING) AS ma_20
FROM levels
ORDER BY trade_date;

-- %% chart bar x=trade_date y=turnover_millions title="Turnover by day, millions" title.zh="每日成交额（百万）" height=200 empty="No daily bars of the region." empty.zh="没有该地区的日线。"
SELECT trade_date, sum(turnover) / 1e6 AS turnover_millions
FROM market
GROUP BY trade_date
ORDER BY trade_date;

-- %% chart line x=trade_date y=above_ma_50 percent=above_ma_50 rule=0.5 height=220 title="Breadth: share of stocks above their mean of 50 days" title.zh="市场宽度：高于 50 日均线的股票占比" empty="The lake has fewer than 50 days of the region." empty.zh="数据湖中该地区不足 50 个交易日。"
-- ## Breadth
-- It separates a rise of most stocks from a rise of a few large ones.
-- zh: ## 市场宽度
-- zh: 区分多数股票上涨与少数大盘股上涨。
WITH adjusted_closes AS (
  SELECT symbol, trade_date, close,
    avg(close) OVER w AS mean_50,
    count(*) OVER w AS known
  FROM adjusted('1d', 'backward')
  WHERE symbol IN (SELECT symbol FROM market) AND volume > 0
  WINDOW w AS (PARTITION BY symbol ORDER BY trade_date ROWS 49 PRECEDING)
)
SELECT trade_date, avg((close > mean_50)::INTEGER) AS above_ma_50
FROM adjusted_closes
WHERE known = 50 AND trade_date IN (SELECT trade_date FROM market)
GROUP BY trade_date
ORDER BY trade_date;

-- %% chart histogram x=day_return percent=day_return bins=40 height=240 title="Returns of the newest day" title.zh="最新一日的收益率分布" empty="No return is known: the region has no two daily bars of a stock, one after the other." empty.zh="没有已知的收益率：该地区没有任何股票有前后相接的两根日线。"
SELECT simple_return AS day_return
FROM market
WHERE trade_date = (SELECT max(trade_date) FROM market) AND simple_return IS NOT NULL;

-- %% table percent=day_return,month_return title="Most traded" title.zh="成交额居前" rows=15 empty="No daily bars of the region." empty.zh="没有该地区的日线。"
-- ## Leaders
-- zh: ## 居前
WITH months AS (
  SELECT *, exp(sum(ln(1 + simple_return)) OVER (PARTITION BY symbol ORDER BY trade_date ROWS 20 PRECEDING)) - 1 AS month_return
  FROM market
)
SELECT symbol, name, close, simple_return AS day_return, month_return, turnover / 1e6 AS turnover_millions
FROM months
WHERE trade_date = (SELECT max(trade_date) FROM market)
ORDER BY turnover DESC, symbol
LIMIT 15;

-- %% chart bar x=name y=day_return percent=day_return title="Largest moves of the newest day" title.zh="最新一日涨跌幅居前" empty="No return is known: the region has no two daily bars of a stock, one after the other." empty.zh="没有已知的收益率：该地区没有任何股票有前后相接的两根日线。"
WITH newest AS (
  SELECT name, symbol, simple_return AS day_return,
    row_number() OVER (ORDER BY simple_return DESC) AS best,
    row_number() OVER (ORDER BY simple_return) AS worst
  FROM market
  WHERE trade_date = (SELECT max(trade_date) FROM market) AND simple_return IS NOT NULL
)
SELECT concat_ws(' ', symbol, name) AS name, day_return
FROM newest
WHERE best <= 10 OR worst <= 10
ORDER BY day_return DESC;

-- %% chart heatmap x=month y=year color=market_return percent=market_return height=160 title="Month by month" title.zh="逐月收益" empty="No return is known: the region has no two daily bars of a stock, one after the other." empty.zh="没有已知的收益率：该地区没有任何股票有前后相接的两根日线。"
-- ## Calendar
-- The mean of the region's stocks by month, for at most ten years; the first month and the last may be incomplete.
-- zh: ## 月历
-- zh: 该地区股票逐月的平均收益，最多十年；首月和末月可能不完整。
WITH daily AS (
  SELECT trade_date, avg(simple_return) AS mean_return
  FROM returns
  WHERE region = $region
    AND year(trade_date) > (SELECT max(year(trade_date)) - 10 FROM bars_1d WHERE region = $region)
    AND symbol NOT IN (SELECT symbol FROM instruments WHERE region = $region AND type <> 'stock')
  GROUP BY trade_date
)
SELECT
  strftime(trade_date, '%m') AS month,
  year(trade_date)::VARCHAR AS year,
  exp(sum(ln(1 + mean_return))) - 1 AS market_return
FROM daily
WHERE mean_return IS NOT NULL
GROUP BY ALL
ORDER BY year, month;
