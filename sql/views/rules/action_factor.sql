-- The factor of an ex-date by its corporate actions: the close of the session before, divided by the theoretical ex-price
-- (last_close - cash + paid) / (1 + shares + rights). Null where no positive price is left, or something is not known.
-- Grain: one value for each ex-date. Inputs: the close of the session before, and the columns of ex_actions.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO action_factor(last_close, cash, shares, rights, paid) AS
  CASE
    WHEN last_close > 0 AND isfinite(last_close) AND (last_close - cash + paid) > 0 AND (1 + shares + rights) > 0 THEN last_close * (1 + shares + rights) / (last_close - cash + paid)
  END;

COMMENT ON MACRO action_factor IS 'Factor of an ex-date by its corporate actions: the close of the session before, divided by the theoretical ex-price (last_close - cash + paid) / (1 + shares + rights). Above 1 for a payout or a split; null where no positive price is left. [ratio]
last_close: Close of the session before. [currency]
cash: Cash for one share held before. [currency a share]
shares: Shares in addition for one held before: 3 for a split of 4 for 1, -0.9 for a consolidation of 10. [shares a share]
rights: Shares that may be bought for one held before. [shares a share]
paid: What these cost: the sum of rights times price. [currency a share]';
