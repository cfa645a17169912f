-- # Dividends and splits
-- What one instrument has paid and how its shares were divided, and what both did to its prices.
--
-- `symbol` chooses it (by default the one that was traded most in the newest week, of those with corporate actions), `years` the
-- length of the charts. Where several sources state the actions of a day, those of the source that the lake saw first are taken.
-- Dividends are summed in shares of one date: a dividend of 0.80 before a split of 4 for 1 is 0.20 for a share after it.
-- %% param symbol = (SELECT symbol FROM bars_1d WHERE trade_date > (SELECT max(trade_date) FROM bars_1d) - 7 GROUP BY symbol ORDER BY symbol IN (SELECT symbol FROM corporate_actions) DESC, sum(amount) DESC NULLS LAST, symbol LIMIT 1)
-- %% param years = 10 min=1 max=100

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

-- %% figures percent=dividend_yield empty="This lake has no daily bar of the symbol: choose another with --param symbol=AAPL.US."
SELECT $symbol AS symbol, (SELECT name FROM instruments WHERE symbol = $symbol) AS name, trade_date AS newest_day, close,
  CASE WHEN first_dividend IS NOT NULL THEN dividends END AS dividends_of_12_months,
  CASE WHEN first_dividend IS NOT NULL THEN dividends / close END AS dividend_yield,
  first_dividend,
  (SELECT max(ex_date) FROM ex_days WHERE cash > 0 AND ex_date <= trade_date) AS last_dividend,
  (SELECT count(*) FROM ex_days WHERE shares != 1 AND ex_date <= trade_date) AS splits,
  (SELECT CASE count(*) WHEN 0 THEN 'as traded: no ex-event is known' WHEN 1 THEN 'adjusted by 1 ex-event' ELSE 'adjusted by ' || count(*) || ' ex-events' END FROM ex_events WHERE symbol = $symbol) AS prices
FROM yearly, (SELECT min(ex_date) AS first_dividend FROM ex_days WHERE cash > 0)
ORDER BY trade_date DESC
LIMIT 1;

-- %% chart line x=trade_date y=price color=series height=360 log=y title="Close as traded, and as its ex-events leave it" empty="No daily bar of the symbol."
-- ## Prices
-- Prices before an ex-event are divided by its factor, so that the newest ones are as traded. Without a known ex-event there is only
-- the close as traded.
SELECT trade_date, close AS price, 'as traded' AS series
FROM closes
WHERE trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
UNION ALL
SELECT trade_date, close, 'adjusted forward'
FROM adjusted('1d', 'forward')
WHERE symbol = $symbol AND close > 0 AND symbol IN (SELECT symbol FROM ex_events WHERE symbol = $symbol)
  AND trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
ORDER BY trade_date, series DESC;

-- %% chart line x=trade_date y=dividend_yield percent=dividend_yield height=240 title="Dividends of the twelve months before, over the close" empty="The lake knows no year of dividends of the symbol: barlake import corporate_actions brings them."
-- ## Dividends
-- From a year after the first dividend that the lake knows.
SELECT trade_date, dividends / close AS dividend_yield
FROM yearly
WHERE trade_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
  AND trade_date >= (SELECT min(ex_date) + INTERVAL 1 YEAR FROM ex_days WHERE cash > 0)
ORDER BY trade_date;

-- %% chart bar x=year y=dividends height=240 title="Dividends a year, for a share of the newest day" empty="The lake has no dividend of the symbol: barlake import corporate_actions brings them."
SELECT CAST(year(e.ex_date) AS VARCHAR) AS year, sum(e.cash * e.before) / coalesce(any_value(now.after), 1) AS dividends
FROM ex_days AS e
LEFT JOIN (FROM ex_days WHERE ex_date <= (SELECT max(trade_date) FROM closes) ORDER BY ex_date DESC LIMIT 1) AS now ON true
WHERE e.cash > 0 AND e.ex_date <= (SELECT max(trade_date) FROM closes)
  AND e.ex_date > (SELECT max(trade_date) FROM closes) - to_years(CAST($years AS INTEGER))
GROUP BY 1
ORDER BY 1;

-- %% table percent=yield rows=20 title="Dividends a share" empty="The lake has no dividend of the symbol: barlake import corporate_actions brings them."
SELECT a.ex_date, a.cash, a.currency, c.close AS close_before, a.cash / c.close AS yield, a.announce_date, a.pay_date, a.source
FROM actions AS a
ASOF LEFT JOIN closes AS c ON c.trade_date < a.ex_date
WHERE a.kind = 'cash_dividend'
ORDER BY a.ex_date DESC;

-- %% table rows=20 title="Splits, stock dividends, rights and others" empty="The lake has none of the symbol: barlake import corporate_actions brings them."
-- ## Splits
-- The ratio is, of a split or consolidation, the shares after it for one before; of stock dividends and rights the shares in addition.
-- `shares` is what one share of the first day has become.
SELECT a.ex_date, a.kind, a.ratio, a.price, e.after AS shares, a.announce_date, a.source
FROM actions AS a
JOIN ex_days AS e USING (ex_date)
WHERE a.kind != 'cash_dividend'
ORDER BY a.ex_date DESC;
