-- Each daily bar with the instrument's metadata and the newest statements that were known on that date: see
-- known_statements.
-- Grain: one row for each symbol and trading date. Inputs: bars_1d, instruments, raw.balance_sheet, raw.cash_flow,
-- raw.income.
-- Units: prices, amounts and statement items in the instrument's currency, as delivered; shares in shares.
CREATE OR REPLACE VIEW daily_fundamentals AS
SELECT
  b.symbol,
  b.trade_date,
  i.name,
  i.type,
  i.exchange,
  b.region,
  b.open,
  b.high,
  b.low,
  b.close,
  b.prev_close,
  b.shares,
  b.amount,
  i.total_shares,
  i.float_shares,
  s.period_end AS balance_sheet_period_end,
  s.announce_date AS balance_sheet_announce_date,
  s.total_assets,
  s.total_liabilities,
  s.total_equity,
  s.equity_attributable,
  s.cash_and_equivalents,
  c.period_end AS cash_flow_period_end,
  c.announce_date AS cash_flow_announce_date,
  c.net_operating_cash_flow,
  c.net_investing_cash_flow,
  c.net_financing_cash_flow,
  c.capex,
  n.period_end AS income_period_end,
  n.announce_date AS income_announce_date,
  n.revenue,
  n.operating_profit,
  n.net_income,
  n.net_income_attributable,
  n.basic_eps
FROM bars_1d AS b
LEFT JOIN instruments AS i ON i.symbol = b.symbol
LEFT JOIN raw.known_balance_sheet AS s
  ON s.symbol = b.symbol AND b.trade_date >= s.known_from AND b.trade_date < s.known_to
LEFT JOIN raw.known_cash_flow AS c
  ON c.symbol = b.symbol AND b.trade_date >= c.known_from AND b.trade_date < c.known_to
LEFT JOIN raw.known_income AS n
  ON n.symbol = b.symbol AND b.trade_date >= n.known_from AND b.trade_date < n.known_to;

COMMENT ON VIEW daily_fundamentals IS 'Each daily bar with the instrument''s metadata and the newest statements known on that date: the greatest period_end, in the version that counts by then. One row for each symbol and trading date. Names and shares are those of now; daily_valuation has those of the date.';
COMMENT ON COLUMN daily_fundamentals.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN daily_fundamentals.shares IS 'Traded volume. [shares]';
COMMENT ON COLUMN daily_fundamentals.total_shares IS 'Shares issued, from the current metadata of the instrument. [shares]';
COMMENT ON COLUMN daily_fundamentals.balance_sheet_period_end IS 'Reporting period of the balance sheet that was known on the date.';
COMMENT ON COLUMN daily_fundamentals.cash_flow_period_end IS 'Reporting period of the cash flow statement that was known on the date.';
COMMENT ON COLUMN daily_fundamentals.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN daily_fundamentals.name IS 'Display name, from the current metadata.';
COMMENT ON COLUMN daily_fundamentals.type IS 'Kind of instrument: stock, etf, index, bond, fund, futures, options, other.';
COMMENT ON COLUMN daily_fundamentals.exchange IS 'Exchange suffix.';
COMMENT ON COLUMN daily_fundamentals.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN daily_fundamentals.open IS 'First price, unadjusted. [currency]';
COMMENT ON COLUMN daily_fundamentals.high IS 'Highest price, unadjusted. [currency]';
COMMENT ON COLUMN daily_fundamentals.low IS 'Lowest price, unadjusted. [currency]';
COMMENT ON COLUMN daily_fundamentals.close IS 'Last price, unadjusted. [currency]';
COMMENT ON COLUMN daily_fundamentals.prev_close IS 'Previous close as the exchange states it. [currency]';
COMMENT ON COLUMN daily_fundamentals.amount IS 'Traded amount; 0 with shares above 0: the source reports none. [currency]';
COMMENT ON COLUMN daily_fundamentals.float_shares IS 'Shares that trade freely, from the current metadata of the instrument. [shares]';
COMMENT ON COLUMN daily_fundamentals.balance_sheet_announce_date IS 'Its date of publication, where the source states it.';
COMMENT ON COLUMN daily_fundamentals.total_assets IS 'Total assets, as reported. [currency]';
COMMENT ON COLUMN daily_fundamentals.total_liabilities IS 'Total liabilities, as reported. [currency]';
COMMENT ON COLUMN daily_fundamentals.total_equity IS 'Total equity, as reported. [currency]';
COMMENT ON COLUMN daily_fundamentals.equity_attributable IS 'Equity attributable, as reported. [currency]';
COMMENT ON COLUMN daily_fundamentals.cash_and_equivalents IS 'Cash and equivalents, as reported. [currency]';
COMMENT ON COLUMN daily_fundamentals.cash_flow_announce_date IS 'Its date of publication, where the source states it.';
COMMENT ON COLUMN daily_fundamentals.net_operating_cash_flow IS 'Net operating cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.net_investing_cash_flow IS 'Net investing cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.net_financing_cash_flow IS 'Net financing cash flow, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.capex IS 'Capex, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.income_period_end IS 'Reporting period of the income statement that was known on the date.';
COMMENT ON COLUMN daily_fundamentals.income_announce_date IS 'Its date of publication, where the source states it.';
COMMENT ON COLUMN daily_fundamentals.revenue IS 'Revenue, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.operating_profit IS 'Operating profit, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.net_income IS 'Net income, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.net_income_attributable IS 'Net income attributable, as reported: from the start of the year. [currency]';
COMMENT ON COLUMN daily_fundamentals.basic_eps IS 'Basic eps, as reported: from the start of the year. [currency a share]';
