-- # Fundamentals
-- What one company earns, how it earns it, and what the market pays for that.
--
-- `symbol` chooses the company (by default the one with the greatest market value on the newest day), `as_of` the date whose
-- knowledge is shown: statements that were announced later, and later versions of older ones, do not exist for it. Amounts are
-- in millions of the statement's currency. Trailing twelve months (ttm) are the report's months plus the year before, minus the same months of that year.
-- zh: # 基本面
-- zh: 一家公司赚多少、怎样赚，以及市场给出的价格。
-- zh:
-- zh: `symbol` 选择公司（默认为最新一日市值最大的），`as_of` 为所示知识的日期：之后公布的财报，以及早先财报之后的版本，当时都不存在。金额为报表货币的百万。过去十二个月 (TTM) 为本期累计数加上年全年，减去上年同期累计数。
-- %% param symbol = (SELECT arg_max(symbol, market_value) FROM daily_valuation WHERE income_period_end IS NOT NULL AND trade_date > (SELECT max(trade_date) FROM bars_1d) - 7)
-- %% param as_of = (SELECT max(trade_date) FROM bars_1d)
-- %% names.zh symbol=代码 name=名称 trade_date=交易日 close=收盘价 price_to_book=市净率 month=月份 period_end=报告期 as_of=截至
-- %% names.zh price_to_earnings=市盈率 price_to_sales=市销率 return_on_equity=净资产收益率 net_margin=净利率 revenue_yoy=营收同比
-- %% names.zh net_income_yoy=净利润同比 reported=报告期 quarter=季度 item=项目 millions=百万 revenue=营业收入 earnings=净利润 margin=利润率
-- %% names.zh gross=毛利率 operating=营业利润率 net=净利率 known_from=获知日 revenue_millions=营业收入（百万） earnings_millions=归母净利润（百万）
-- %% names.zh basic_eps=基本每股收益 gross_margin=毛利率 bps=每股净资产 eps_basic=基本每股收益 roe=净资产收益率 roa=总资产收益率
-- %% names.zh debt_to_asset_ratio=资产负债率 total_shares=总股本

-- %%
CREATE OR REPLACE TEMP TABLE known AS
SELECT *
FROM statements_asof($as_of)
WHERE symbol = $symbol;

-- %% figures percent=return_on_equity,net_margin,revenue_yoy,net_income_yoy empty="This lake has no income statement of the symbol that was known by then: run the pipeline financials, or choose another with --param symbol=600519.SH." empty.zh="数据湖没有该标的当时已知的利润表：运行流水线 financials，或用 --param symbol=600519.SH 选择其他标的。"
SELECT $symbol AS symbol, (SELECT name FROM instruments WHERE symbol = $symbol) AS name, trade_date, close, price_to_earnings,
  price_to_book, price_to_sales, return_on_equity, net_margin, revenue_yoy, net_income_yoy, income_period_end AS reported
FROM daily_valuation
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND income_period_end IS NOT NULL
ORDER BY trade_date DESC
LIMIT 1;

-- %% chart bar x=quarter y=millions color=item height=280 title="Revenue and earnings of twelve months, millions" title.zh="过去十二个月的营业收入与净利润（百万）" empty="No twelve months are known: they take the statements of two years." empty.zh="没有可计算的十二个月：需要两年的财报。"
-- ## Earnings
-- zh: ## 盈利
WITH shown AS (
  SELECT month, revenue_ttm / 1e6 AS revenue, net_income_ttm / 1e6 AS earnings
  FROM known
  WHERE net_income_ttm IS NOT NULL
  ORDER BY month DESC
  LIMIT 12
)
UNPIVOT (SELECT strftime(month, '%Y-%m') AS quarter, revenue, earnings FROM shown ORDER BY month) ON revenue, earnings INTO NAME item VALUE millions
ORDER BY quarter, item DESC;

-- %% chart line x=month y=margin color=item percent=margin height=240 title="Margins, from the start of the year" title.zh="利润率（年初至报告期末累计）" empty="No income statement of the symbol was known by then." empty.zh="当时没有该标的已知的利润表。"
WITH shown AS (
  SELECT month, gross_margin AS gross, operating_margin AS operating, net_margin AS net
  FROM known
  WHERE income_period_end IS NOT NULL
)
UNPIVOT shown ON gross, operating, net INTO NAME item VALUE margin
ORDER BY month, item;

-- %% chart line x=month y=return_on_equity percent=return_on_equity rule=0 height=220 title="Return on equity: earnings of twelve months, over the book value at their end" title.zh="净资产收益率：过去十二个月净利润与期末净资产之比" empty="No book value and earnings of one period were known by then." empty.zh="当时没有同一报告期已知的净资产和净利润。"
SELECT month, return_on_equity
FROM known
WHERE return_on_equity IS NOT NULL
ORDER BY month;

-- %% chart line x=trade_date y=price_to_earnings height=240 title="Price to earnings (ttm), by what was known each day" title.zh="市盈率 (TTM)，按每日当时已知的财报" empty="No day is valued: the lake has no share count of the symbol, or it earned nothing." empty.zh="没有可估值的日期：数据湖没有该标的的股本，或公司没有盈利。"
-- ## Price to earnings
-- zh: ## 市盈率
SELECT trade_date, price_to_earnings
FROM daily_valuation
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND price_to_earnings IS NOT NULL
ORDER BY trade_date;

-- %% table percent=gross_margin,net_margin,return_on_equity,revenue_yoy,net_income_yoy rows=16 title="Income statements" title.zh="利润表" empty="No income statement of the symbol was known by then." empty.zh="当时没有该标的已知的利润表。"
-- ## Statements
-- zh: ## 财务报表
SELECT income_period_end AS period_end, income_known_from AS known_from, revenue / 1e6 AS revenue_millions,
  net_income_attributable / 1e6 AS earnings_millions, basic_eps, gross_margin, net_margin, return_on_equity, revenue_yoy,
  net_income_yoy
FROM known
WHERE income_period_end IS NOT NULL
ORDER BY period_end DESC;

-- %% table rows=16 title="Metrics that the source computes" title.zh="来源给出的主要指标" empty="No metrics of the symbol were known by then: the pipeline financials brings them where the service has them." empty.zh="当时没有该标的已知的主要指标：服务提供时，流水线 financials 会获取。"
-- At the end of each month, the newest metrics that were known by then.
-- zh: 每月末当时已知的最新指标。
SELECT trade_date, metrics_period_end AS period_end, bps, eps_basic, roe, roa, gross_margin, debt_to_asset_ratio, total_shares
FROM daily_metrics
WHERE symbol = $symbol AND trade_date <= CAST($as_of AS DATE) AND metrics_period_end IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY date_trunc('month', trade_date) ORDER BY trade_date DESC) = 1
ORDER BY trade_date DESC;
