-- # Data quality
-- Whether the lake's rows agree with one another: gaps, contradictions, outliers, stale prices and wrong units.
--
-- A finding is a reason to look, not proof of an error: a stock may really have doubled in a day. For damaged files run
-- `barlake check`.
-- zh: # 数据质量
-- zh: 数据湖中的数据是否相互一致：缺口、矛盾、异常值、价格不动和单位错误。
-- zh:
-- zh: 发现是进一步查看的理由，不等于错误：股票确实可能一天翻倍。检查损坏的文件用 `barlake check`。
-- %% names.zh symbol=代码 name=名称 region=地区 trade_date=交易日 close=收盘价 month=月份 tables=表 rows=行数 files=文件 megabytes=MB
-- %% names.zh newest_commit=最近写入 finding=类型 findings=发现 kinds=类型 gap=缺口 contradiction=矛盾 outlier=异常收益 stale=价格不动
-- %% names.zh duplicate=重复 unit=单位 dataset=表 kind=类型 first_date=首日 last_date=末日 sessions=交易日数 missing_minutes=缺少分钟
-- %% names.zh base=基准价 simple_return=收益率 "times the usual"=通常的倍数 detail=详情 symbols=标的数 bars=K线数 first=首日 last=末日
-- %% names.zh rule=规则 one_source=来源之一 one_reason=原因之一 pipeline=流水线 started_at=开始 status=状态 requests_sent=请求 rejected=剔除
-- %% names.zh inserted=新增 updated=更新

-- %% figures empty="This lake has no table yet." empty.zh="数据湖还没有表。"
SELECT count(*) FILTER (version >= 0) AS tables, sum("rows")::BIGINT AS "rows", sum(files)::BIGINT AS files,
  round(sum(bytes) / 1e6, 1) AS megabytes, max(date_trunc('second', committed_at)) AS newest_commit
FROM raw.tables
HAVING count(*) FILTER (version >= 0) > 0;

-- %%
CREATE OR REPLACE TEMP TABLE gaps AS FROM quality_gaps;
CREATE OR REPLACE TEMP TABLE outliers AS FROM quality_outliers;
CREATE OR REPLACE TEMP TABLE findings AS
SELECT 'gap' AS finding, symbol, region, first_date AS trade_date, kind AS detail FROM gaps
UNION ALL SELECT 'contradiction', symbol, region, trade_date, rule FROM quality_ohlc
UNION ALL SELECT 'outlier', symbol, region, trade_date, printf('%+.1f %%', 100 * simple_return) FROM outliers
UNION ALL SELECT 'stale', symbol, region, first_date, bars || ' equal bars' FROM quality_stale
UNION ALL SELECT 'duplicate', symbol, region, trade_date, rule FROM quality_duplicates
UNION ALL SELECT 'unit', symbol, region, trade_date, printf('amount / volume is %.4g of the close', ratio) FROM quality_units;

-- %% chart bar x=finding y=findings color=region stack=yes height=240 title="Findings by kind" title.zh="按类型统计的发现" empty="No findings: the rows agree with one another, or there are none." empty.zh="没有发现：各行彼此一致，或没有数据。"
-- ## Findings
-- zh: ## 发现
SELECT finding, region, count(*) AS findings
FROM findings
GROUP BY ALL
ORDER BY finding, region;

-- %% chart heatmap x=month y=finding color=findings title="Findings by month, the newest 24 that have any" title.zh="按月统计的发现（最近 24 个有发现的月份）" height=180 empty="No findings." empty.zh="没有发现。"
SELECT strftime(trade_date, '%Y-%m') AS month, finding, count(*) AS findings
FROM findings
WHERE date_trunc('month', trade_date) IN (SELECT DISTINCT date_trunc('month', trade_date) AS month FROM findings ORDER BY month DESC LIMIT 24)
GROUP BY ALL
ORDER BY finding, month;

-- %% table title="Symbols with most findings" title.zh="发现最多的标的" rows=20 empty="No findings." empty.zh="没有发现。"
SELECT f.symbol, i.name, f.region, count(*) AS findings, string_agg(DISTINCT f.finding, ', ' ORDER BY f.finding) AS kinds
FROM findings AS f
LEFT JOIN instruments AS i USING (symbol)
GROUP BY ALL
ORDER BY findings DESC, f.symbol
LIMIT 20;

-- %% table title="Longest gaps" title.zh="最长的缺口" rows=20 empty="No session is missing between any symbol's first bar and its last." empty.zh="所有标的首尾K线之间没有缺失的交易日。"
-- ## Gaps
-- A suspended stock has no bar on services that deliver none: compare `daily_status`.
-- zh: ## 缺口
-- zh: 停牌日没有K线的服务也会形成缺口：请对照 `daily_status`。
SELECT dataset, symbol, kind, first_date, last_date, sessions, missing_minutes
FROM gaps
ORDER BY sessions DESC, missing_minutes DESC, symbol
LIMIT 20;

-- %% table percent=simple_return title="Largest outliers" title.zh="最大的异常收益" rows=20 empty="No return is out of all proportion to those before it." empty.zh="没有远超此前水平的收益率。"
-- ## Outliers
-- zh: ## 异常收益
SELECT symbol, trade_date, base, close, simple_return, round(times, 1) AS "times the usual"
FROM outliers
ORDER BY times DESC, symbol
LIMIT 20;

-- %% table title="Contradictions and wrong units" title.zh="矛盾与单位错误" rows=50 empty="None: highs are the highest, lows the lowest, and amounts fit volumes." empty.zh="没有：最高价最高，最低价最低，成交额与成交量相符。"
SELECT finding, symbol, trade_date, detail
FROM findings
WHERE finding IN ('contradiction', 'unit', 'duplicate')
ORDER BY trade_date DESC, symbol
LIMIT 50;

-- %% chart line x=trade_date y=symbols color=region height=240 title="Symbols with a daily bar" title.zh="有日线的标的数" empty="No daily bars." empty.zh="没有日线。"
-- ## Coverage
-- zh: ## 覆盖
SELECT trade_date, region, count(*) AS symbols
FROM bars_1d
GROUP BY ALL
ORDER BY trade_date, region;

-- %% table title="Bars by table and region" title.zh="各表各地区的K线" empty="No bars." empty.zh="没有K线。"
SELECT 'bars_1d' AS dataset, region, count(DISTINCT symbol) AS symbols, count(*) AS bars, min(trade_date) AS first, max(trade_date) AS last
FROM bars_1d GROUP BY region
UNION ALL
SELECT 'bars_1m', region, count(DISTINCT symbol), count(*), min(trade_date), max(trade_date)
FROM bars_1m GROUP BY region
ORDER BY dataset, region;

-- %% table title="Rows set aside" title.zh="剔除的行" rows=20 empty="No row was ever set aside." empty.zh="从未剔除过任何行。"
SELECT dataset, rule, count(*) AS "rows", min(source) AS one_source, min(reason) AS one_reason
FROM rejects
GROUP BY ALL
ORDER BY "rows" DESC;

-- %% table title="Newest runs" title.zh="最近的运行" rows=10 empty="No pipeline ran into this lake." empty.zh="这个数据湖没有运行过流水线。"
SELECT pipeline, started_at, status, requests_sent, "rows", rejected, inserted, updated
FROM runs
ORDER BY started_at DESC
LIMIT 10;
