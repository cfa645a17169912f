-- # Data quality
-- Whether the lake's rows agree with one another: gaps, contradictions, outliers, stale prices and wrong units.
--
-- A finding is a reason to look, not proof of an error: a stock may really have doubled in a day. For damaged files run
-- `barlake check`.

-- %% figures empty="This lake has no table yet."
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

-- %% chart bar x=finding y=findings color=region stack=yes height=240 title="Findings by kind" empty="No findings: the rows agree with one another, or there are none."
-- ## Findings
SELECT finding, region, count(*) AS findings
FROM findings
GROUP BY ALL
ORDER BY finding, region;

-- %% chart heatmap x=month y=finding color=findings title="Findings by month, the newest 24 that have any" height=180 empty="No findings."
SELECT strftime(trade_date, '%Y-%m') AS month, finding, count(*) AS findings
FROM findings
WHERE date_trunc('month', trade_date) IN (SELECT DISTINCT date_trunc('month', trade_date) AS month FROM findings ORDER BY month DESC LIMIT 24)
GROUP BY ALL
ORDER BY finding, month;

-- %% table title="Symbols with most findings" rows=20 empty="No findings."
SELECT f.symbol, i.name, f.region, count(*) AS findings, string_agg(DISTINCT f.finding, ', ' ORDER BY f.finding) AS kinds
FROM findings AS f
LEFT JOIN instruments AS i USING (symbol)
GROUP BY ALL
ORDER BY findings DESC, f.symbol
LIMIT 20;

-- %% table title="Longest gaps" rows=20 empty="No session is missing between any symbol's first bar and its last."
-- ## Gaps
-- A suspended stock has no bar on services that deliver none: compare `daily_status`.
SELECT dataset, symbol, kind, first_date, last_date, sessions, missing_minutes
FROM gaps
ORDER BY sessions DESC, missing_minutes DESC, symbol
LIMIT 20;

-- %% table percent=simple_return title="Largest outliers" rows=20 empty="No return is out of all proportion to those before it."
-- ## Outliers
SELECT symbol, trade_date, base, close, simple_return, round(times, 1) AS "times the usual"
FROM outliers
ORDER BY times DESC, symbol
LIMIT 20;

-- %% table title="Contradictions and wrong units" rows=50 empty="None: highs are the highest, lows the lowest, and amounts fit volumes."
SELECT finding, symbol, trade_date, detail
FROM findings
WHERE finding IN ('contradiction', 'unit', 'duplicate')
ORDER BY trade_date DESC, symbol
LIMIT 50;

-- %% chart line x=trade_date y=symbols color=region height=240 title="Symbols with a daily bar" empty="No daily bars."
-- ## Coverage
SELECT trade_date, region, count(*) AS symbols
FROM bars_1d
GROUP BY ALL
ORDER BY trade_date, region;

-- %% table title="Bars by table and region" empty="No bars."
SELECT 'bars_1d' AS dataset, region, count(DISTINCT symbol) AS symbols, count(*) AS bars, min(trade_date) AS first, max(trade_date) AS last
FROM bars_1d GROUP BY region
UNION ALL
SELECT 'bars_1m', region, count(DISTINCT symbol), count(*), min(trade_date), max(trade_date)
FROM bars_1m GROUP BY region
ORDER BY dataset, region;

-- %% table title="Rows set aside" rows=20 empty="No row was ever set aside."
SELECT dataset, rule, count(*) AS "rows", min(source) AS one_source, min(reason) AS one_reason
FROM rejects
GROUP BY ALL
ORDER BY "rows" DESC;

-- %% table title="Newest runs" rows=10 empty="No pipeline ran into this lake."
SELECT pipeline, started_at, status, requests_sent, "rows", rejected, inserted, updated
FROM runs
ORDER BY started_at DESC
LIMIT 10;
