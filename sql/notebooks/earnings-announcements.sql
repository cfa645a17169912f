-- # Earnings announcements
-- An event study: the returns of stocks in excess of their market's, in the days around their announcements.
--
-- Day 0 is the first session on or after `announce_date`: statements that come after the close move the price on day +1.
-- The **abnormal return** is the stock's return minus the mean return of its region's stocks on that day. An announcement
-- counts if the lake has `span` sessions before it and after it; days without a bar are left out. The band is the mean
-- ± 1.96 standard errors, **clustered by announcement day**, since companies that report on the same day are not
-- independent of one another.
-- zh: # 财报公告
-- zh: 事件研究：财报公告前后股票相对市场的超额收益。
-- zh:
-- zh: 第 0 日为 `announce_date` 当日或其后的首个交易日：收盘后发布的财报影响第 +1 日的价格。**异常收益**是股票收益率减去该地区股票当日的平均收益率。数据湖在公告前后各有 `span` 个交易日的公告才计入；没有K线的日子略去。置信带为均值 ± 1.96 个标准误，**按公告日聚类**，因为同日公告的公司并不相互独立。
-- %% param region = coalesce((SELECT i.region FROM balance_sheet AS s JOIN instruments AS i USING (symbol) WHERE s.announce_date IS NOT NULL GROUP BY ALL ORDER BY count(*) DESC LIMIT 1), 'CN')
-- %% param span = 10
-- %% names.zh symbol=代码 name=名称 region=地区 month=月份 period_end=报告期 span=窗口 announcements=公告数 companies=公司数
-- %% names.zh days_with_some=公告日数 first=首日 last=末日 day=相对交易日 mean_abnormal_return=平均异常收益 low=下限 high=上限
-- %% names.zh mean_cumulated=平均累计 move=涨跌 day_0="第 0 日"

-- %%
CREATE OR REPLACE TEMP TABLE abnormal AS
SELECT symbol, trade_date, simple_return - avg(simple_return) OVER (PARTITION BY trade_date) AS abnormal_return
FROM returns
WHERE region = $region AND simple_return IS NOT NULL
  AND symbol NOT IN (SELECT symbol FROM instruments WHERE region = $region AND type <> 'stock');

-- Later versions of a statement are no news: the first announcement of a period counts.
CREATE OR REPLACE TEMP TABLE events AS
WITH announced AS (
  SELECT symbol, period_end, min(announce_date) AS announce_date
  FROM raw.balance_sheet
  WHERE region = $region AND announce_date IS NOT NULL
  GROUP BY ALL
), sessions AS (
  SELECT trade_date, session_number, max(session_number) OVER () AS newest
  FROM trading_calendar
  WHERE region = $region
)
SELECT a.symbol, a.period_end, a.announce_date, s.trade_date AS day_0, s.session_number
FROM announced AS a
ASOF JOIN sessions AS s ON a.announce_date <= s.trade_date
WHERE s.session_number > $span AND s.session_number + $span <= s.newest
  AND a.announce_date >= (SELECT min(trade_date) FROM sessions);

CREATE OR REPLACE TEMP TABLE windows AS
SELECT e.symbol, e.period_end, e.day_0, (c.session_number - e.session_number)::INTEGER AS day, a.abnormal_return
FROM events AS e
JOIN trading_calendar AS c ON c.region = $region AND abs(c.session_number - e.session_number) <= $span
JOIN abnormal AS a ON a.symbol = e.symbol AND a.trade_date = c.trade_date;

-- %% figures empty="This lake has no announcement whose days before and after it holds: run the pipelines financials and daily, or choose another region with --param region=US." empty.zh="数据湖没有前后交易日齐全的公告：运行流水线 financials 和 daily，或用 --param region=US 选择其他地区。"
SELECT $region AS region, count(DISTINCT (symbol, period_end)) AS announcements, count(DISTINCT symbol) AS companies,
  count(DISTINCT day_0) AS days_with_some, min(day_0) AS first, max(day_0) AS last
FROM windows
HAVING count(*) > 0;

-- %% chart line x=day y=mean_abnormal_return low=low high=high percent=mean_abnormal_return,low,high rule=0 title="Mean abnormal return by day, with a band of 95 %" title.zh="各日平均异常收益及 95% 置信带" empty="No announcements." empty.zh="没有公告。"
-- ## Day by day
-- Where the band contains zero, the mean of that day does not differ from zero significantly.
-- zh: ## 逐日
-- zh: 置信带包含零时，当日均值与零没有显著差异。
WITH clusters AS (
  SELECT day, day_0, avg(abnormal_return) AS cluster_mean, count(*) AS n
  FROM windows
  GROUP BY day, day_0
), means AS (
  SELECT day, sum(n * cluster_mean) / sum(n) AS mean_abnormal_return, count(*) AS clusters, sum(n) AS total
  FROM clusters
  GROUP BY day
), errors AS (
  SELECT m.day, m.mean_abnormal_return,
    sqrt(sum((c.n * (c.cluster_mean - m.mean_abnormal_return)) ** 2) * m.clusters / nullif(m.clusters - 1, 0)) / m.total AS standard_error
  FROM clusters AS c
  JOIN means AS m USING (day)
  GROUP BY m.day, m.mean_abnormal_return, m.clusters, m.total
)
SELECT day, mean_abnormal_return, mean_abnormal_return - 1.96 * standard_error AS low,
  mean_abnormal_return + 1.96 * standard_error AS high
FROM errors
ORDER BY day;

-- %% chart line x=day y=mean_cumulated low=low high=high percent=mean_cumulated,low,high rule=0 title="Cumulative abnormal return from the first day on, with a band of 95 %" title.zh="自首日起的累计异常收益及 95% 置信带" empty="No announcements." empty.zh="没有公告。"
-- ## Cumulative
-- Only announcements with a bar on each day of the window.
-- zh: ## 累计
-- zh: 只计窗口内每日都有K线的公告。
WITH paths AS (
  SELECT symbol, period_end, day_0, day,
    sum(abnormal_return) OVER (PARTITION BY symbol, period_end ORDER BY day) AS cumulated,
    count(*) OVER (PARTITION BY symbol, period_end) AS days
  FROM windows
), clusters AS (
  SELECT day, day_0, avg(cumulated) AS cluster_mean, count(*) AS n
  FROM paths
  WHERE days = 2 * $span + 1
  GROUP BY day, day_0
), means AS (
  SELECT day, sum(n * cluster_mean) / sum(n) AS mean, count(*) AS clusters, sum(n) AS total
  FROM clusters
  GROUP BY day
), errors AS (
  SELECT m.day, m.mean,
    sqrt(sum((c.n * (c.cluster_mean - m.mean)) ** 2) * m.clusters / nullif(m.clusters - 1, 0)) / m.total AS standard_error
  FROM clusters AS c
  JOIN means AS m USING (day)
  GROUP BY m.day, m.mean, m.clusters, m.total
)
SELECT day, mean AS mean_cumulated, mean - 1.96 * standard_error AS low, mean + 1.96 * standard_error AS high
FROM errors
ORDER BY day;

-- %% chart histogram x=move percent=move bins=50 height=240 title="Abnormal return of days 0 and +1 together" title.zh="第 0 日与第 +1 日合计的异常收益" empty="No announcements." empty.zh="没有公告。"
SELECT sum(abnormal_return) AS move
FROM windows
WHERE day BETWEEN 0 AND 1
GROUP BY symbol, period_end
HAVING count(*) = 2;

-- %% table percent=move rows=20 title="Largest moves" title.zh="最大的涨跌" empty="No announcements." empty.zh="没有公告。"
SELECT w.symbol, i.name, w.period_end, w.day_0, sum(w.abnormal_return) AS move
FROM windows AS w
LEFT JOIN instruments AS i USING (symbol)
WHERE w.day BETWEEN 0 AND 1
GROUP BY ALL
HAVING count(*) = 2
ORDER BY abs(move) DESC
LIMIT 20;

-- %% chart bar x=month y=announcements height=200 title="Announcements by month" title.zh="每月公告数" empty="No announcements." empty.zh="没有公告。"
SELECT strftime(day_0, '%Y-%m') AS month, count(*) AS announcements
FROM events
GROUP BY month
ORDER BY month;
