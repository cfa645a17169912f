-- # Fundamentals
-- What one company earns, how it earns it, and what the market pays for that.
--
-- `symbol` chooses the company (by default the one with the greatest market value on the newest day), `as_of` the date whose
-- knowledge is shown: statements that were announced later, and later versions of older ones, do not exist for it. Amounts are
-- in millions of the statement's currency. Trailing twelve months (ttm) are the report's months plus the year before, minus the same months of that year.
-- %% param symbol = (SELECT arg_max(symbol, market_value) FROM daily_valuation WHERE income_period_end IS NOT NULL AND trade_date > (SELECT max(trade_date) FROM bars_1d) - 7)
-- %% param as_of = (SELECT max(trade_date) FROM bars_1d)

-- %%
CREATE OR REPLACE TEMP TABLE known AS
SELECT *
FROM statements_asof($as_of)
WHERE symbol = $symbol;

-- %% figures percent=return_on_equity,net_margin,revenue_yoy,net_income_yoy empty="This lake has no income statement of the symbol that was known by then: run the pipeline financials, or choose another with --param symbol=600519.SH."
SELECT $symbol AS symbol, (SELECT name FROM instruments WHERE symbol = $symbol) AS name, trade_date, close, price_to_earnings,
  price_to_book, price_to_sales, return_on_equity, net_margin, revenue_yoy, net_income_yoy, income_period_end AS reported
FROM daily_valuation
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND income_period_end IS NOT NULL
ORDER BY trade_date DESC
LIMIT 1;

-- %% chart bar x=quarter y=millions color=item height=280 title="Revenue and earnings of twelve months, millions" empty="No twelve months are known: they take the statements of two years."
-- ## Earnings
WITH shown AS (
  SELECT month, revenue_ttm / 1e6 AS revenue, net_income_ttm / 1e6 AS earnings
  FROM known
  WHERE net_income_ttm IS NOT NULL
  ORDER BY month DESC
  LIMIT 12
)
UNPIVOT (SELECT strftime(month, '%Y-%m') AS quarter, revenue, earnings FROM shown ORDER BY month) ON revenue, earnings INTO NAME item VALUE millions
ORDER BY quarter, item DESC;

-- %% chart line x=month y=margin color=item percent=margin height=240 title="Margins, from the start of the year" empty="No income statement of the symbol was known by then."
WITH shown AS (
  SELECT month, gross_margin AS gross, operating_margin AS operating, net_margin AS net
  FROM known
  WHERE income_period_end IS NOT NULL
)
UNPIVOT shown ON gross, operating, net INTO NAME item VALUE margin
ORDER BY month, item;

-- %% chart line x=month y=return_on_equity percent=return_on_equity rule=0 height=220 title="Return on equity: earnings of twelve months, over the book value at their end" empty="No book value and earnings of one period were known by then."
SELECT month, return_on_equity
FROM known
WHERE return_on_equity IS NOT NULL
ORDER BY month;

-- %% chart line x=trade_date y=price_to_earnings height=240 title="Price to earnings (ttm), by what was known each day" empty="No day is valued: the lake has no share count of the symbol, or it earned nothing."
-- ## Price to earnings
SELECT trade_date, price_to_earnings
FROM daily_valuation
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND price_to_earnings IS NOT NULL
ORDER BY trade_date;

-- %% table percent=gross_margin,net_margin,return_on_equity,revenue_yoy,net_income_yoy rows=16 title="Income statements" empty="No income statement of the symbol was known by then."
-- ## Statements
SELECT income_period_end AS period_end, income_known_from AS known_from, revenue / 1e6 AS revenue_millions,
  net_income_attributable / 1e6 AS earnings_millions, basic_eps, gross_margin, net_margin, return_on_equity, revenue_yoy,
  net_income_yoy
FROM known
WHERE income_period_end IS NOT NULL
ORDER BY period_end DESC;

-- %% table rows=16 title="Metrics that the source computes" empty="No metrics of the symbol were known by then: the pipeline financials brings them where the service has them."
-- At the end of each month, the newest metrics that were known by then.
SELECT trade_date, metrics_period_end AS period_end, bps, eps_basic, roe, roa, gross_margin, debt_to_asset_ratio, total_shares
FROM daily_metrics
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND metrics_period_end IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY date_trunc('month', trade_date) ORDER BY trade_date DESC) = 1
ORDER BY trade_date DESC;
