-- # Factor deciles
-- The next month's return of stocks, by decile of a factor.
--
-- `factor` is `momentum` (the return of the last twelve months without the newest one), `reversal` (the newest month's
-- return, with its sign reversed) or `value` (book value over market value). At each month's last session the region's
-- stocks that traded on it are ranked into `groups` groups by what was known **at the end of that day**; the next
-- month's return is from that close to the next month's last session's. So a factor never uses what it is meant to predict.
-- Prices are adjusted backward by the ex-events that the lake knows; a stock that was delisted within the month counts with
-- its last close. One thing is assumed: before the lake's first snapshot of the metadata, `value` takes the share counts of that snapshot.
-- zh: # 因子分组
-- zh: 按因子分组的股票次月收益。
-- zh:
-- zh: `factor` 可为 `momentum`（动量：过去十二个月扣除最近一个月的收益率）、`reversal`（反转：最近一个月收益率取负）或 `value`（价值：净资产与市值之比）。每月最后一个交易日，将该地区当日有交易的股票按**当日收盘后**已知的内容排序，分为 `groups` 组；次月收益从该日收盘价算到次月最后一个交易日的收盘价。因此因子从不使用它要预测的内容。价格按数据湖已知的除权除息后复权；当月退市的股票按最后收盘价计。只有一处假定：数据湖首次获取标的资料之前，`value` 使用首次获取的股本。
-- %% param region = coalesce((SELECT region FROM bars_1d GROUP BY region ORDER BY count(*) DESC LIMIT 1), 'CN')
-- %% param factor = 'momentum'
-- %% param groups = 10
-- %% names.zh region=地区 month=月份 factor=因子 groups=组数 momentum=动量 reversal=反转 value=价值 months=月数 stocks_a_month=月均股票数
-- %% names.zh mean_ic="IC 均值" t_value="t 值" share_of_months_above_zero="IC 为正的月份占比" decile=组 next_month=次月收益
-- %% names.zh volatility=波动率 mean_factor=因子均值 last_session=月末交易日 growth=净值 ic=IC

-- %%
CREATE OR REPLACE TEMP TABLE ends AS
SELECT row_number() OVER (ORDER BY month) AS number, *
FROM (
  SELECT date_trunc('month', trade_date)::DATE AS month, max(trade_date) AS last_session
  FROM trading_calendar
  WHERE region = $region
  GROUP BY month
);

CREATE OR REPLACE TEMP TABLE closes AS
SELECT e.number, e.last_session, a.symbol, a.trade_date, a.close
FROM (SELECT DISTINCT symbol FROM bars_1d WHERE region = $region) AS s
CROSS JOIN ends AS e
ASOF JOIN (
  SELECT symbol, trade_date, close FROM adjusted('1d', 'backward') WHERE region = $region AND volume > 0 AND close > 0
) AS a ON a.symbol = s.symbol AND a.trade_date <= e.last_session
WHERE s.symbol NOT IN (SELECT symbol FROM instruments WHERE region = $region AND type <> 'stock');

CREATE OR REPLACE TEMP TABLE ranked AS
WITH signals AS (
  SELECT now.number, now.last_session, now.symbol,
    next.close / now.close - 1 AS next_return,
    CASE $factor
      WHEN 'momentum' THEN month_ago.close / year_ago.close - 1
      WHEN 'reversal' THEN 1 - now.close / month_ago.close
      WHEN 'value' THEN v.book_value / nullif(v.market_value, 0)
      ELSE error('factor is ' || $factor || '; it may be momentum, reversal or value')
    END AS signal
  FROM closes AS now
  JOIN closes AS next ON next.symbol = now.symbol AND next.number = now.number + 1
  LEFT JOIN closes AS month_ago ON month_ago.symbol = now.symbol AND month_ago.number = now.number - 1
  LEFT JOIN closes AS year_ago ON year_ago.symbol = now.symbol AND year_ago.number = now.number - 12
  LEFT JOIN daily_valuation AS v
    ON $factor = 'value' AND v.region = $region AND v.symbol = now.symbol AND v.trade_date = now.last_session
  WHERE now.trade_date = now.last_session
    -- The newest month may still be running, so it is not used as the next month of another one.
    AND now.number + 1 < (SELECT max(number) FROM ends)
)
SELECT *,
  ntile($groups) OVER (PARTITION BY number ORDER BY signal, symbol) AS decile,
  rank() OVER (PARTITION BY number ORDER BY signal) + (count(*) OVER (PARTITION BY number, signal) - 1) / 2 AS signal_rank,
  rank() OVER (PARTITION BY number ORDER BY next_return) + (count(*) OVER (PARTITION BY number, next_return) - 1) / 2 AS return_rank
FROM signals
WHERE signal IS NOT NULL AND isfinite(signal) AND next_return IS NOT NULL
QUALIFY count(*) OVER (PARTITION BY number) >= 2 * $groups;

-- The information coefficient: the rank correlation (Spearman) of factor and next return, month by month.
CREATE OR REPLACE TEMP TABLE coefficients AS
SELECT last_session, corr(signal_rank, return_rank) AS ic, count(*) AS stocks
FROM ranked
GROUP BY last_session
HAVING ic IS NOT NULL AND isfinite(ic);

-- %% figures empty="This lake has no month that the factor is known for: momentum wants 14 months of daily bars, value balance sheets and share counts, and each month twice as many stocks as groups." empty.zh="数据湖没有可计算该因子的月份：momentum 需要 14 个月的日线，value 需要资产负债表和股本，且每月股票数至少为组数的两倍。"
SELECT $factor AS factor, count(*) AS months, round(avg(stocks)) AS stocks_a_month, round(avg(ic), 4) AS mean_ic,
  round(avg(ic) / nullif(stddev_samp(ic) / sqrt(count(*)), 0), 2) AS t_value,
  round(avg((ic > 0)::INTEGER), 2) AS share_of_months_above_zero
FROM coefficients
HAVING count(*) > 0;

-- %% chart bar x=decile y=next_month percent=next_month title="Mean return of the next month, by decile (the last has the highest factor)" title.zh="各组次月平均收益（最后一组因子值最高）" empty="No ranked months." empty.zh="没有可排序的月份。"
-- ## Deciles
-- If a factor predicts returns, the bars rise or fall from decile to decile, not only at the first and the last.
-- zh: ## 分组
-- zh: 因子若能预测收益，各组的柱应逐组上升或下降，而不只是首尾两组不同。
SELECT decile, avg(month_mean) AS next_month
FROM (SELECT decile, number, avg(next_return) AS month_mean FROM ranked GROUP BY ALL)
GROUP BY decile
ORDER BY decile;

-- %% table percent=next_month,volatility title="By decile" title.zh="分组统计" empty="No ranked months." empty.zh="没有可排序的月份。"
SELECT decile, count(*) AS months, avg(month_mean) AS next_month, stddev_samp(month_mean) AS volatility,
  round(avg(month_mean) / nullif(stddev_samp(month_mean) / sqrt(count(*)), 0), 2) AS t_value,
  round(avg(signal), 4) AS mean_factor
FROM (SELECT decile, number, avg(next_return) AS month_mean, avg(signal) AS signal FROM ranked GROUP BY ALL)
GROUP BY decile
ORDER BY decile;

-- %% chart line x=last_session y=growth color=decile height=300 title="One invested in the first and in the last decile, chosen each month; no costs" title.zh="每月调仓投入首组与末组的一元（不计费用）" empty="No ranked months." empty.zh="没有可排序的月份。"
SELECT last_session, decile,
  exp(sum(ln(1 + month_mean)) OVER (PARTITION BY decile ORDER BY last_session)) AS growth
FROM (
  SELECT last_session, decile::VARCHAR AS decile, avg(next_return) AS month_mean
  FROM ranked
  WHERE decile IN (1, $groups)
  GROUP BY ALL
)
ORDER BY last_session, decile;

-- %% chart bar x=month y=ic height=240 title="Information coefficient by month" title.zh="每月信息系数 (IC)" empty="No ranked months." empty.zh="没有可排序的月份。"
-- ## Information coefficient
-- The rank correlation of the factor with the next month's return; its mean's t-value is above, and below 2 it is little
-- more than chance.
-- zh: ## 信息系数
-- zh: 因子与次月收益的秩相关系数；上方有其均值的 t 值，低于 2 时与偶然相差无几。
SELECT strftime(last_session, '%Y-%m') AS month, ic
FROM coefficients
ORDER BY last_session;
