/** Names of columns by the field of corporate actions, in the notation of `plainName`: with an action a row, or with a column for each kind (`split`, `stock_dividend`, `rights`). */
export const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  symbol: ["ts_code", "symbol", "ticker", "code", "stock_code", "act_symbol", "股票代码", "证券代码", "代码"],
  ex_date: [
    "ex_date",
    "exdate",
    "ex_dividend_date",
    "exdividenddate",
    "ex_div_date",
    "execution_date",
    "除权除息日",
    "除息日",
    "除权日",
    "date",
    "timestamp",
  ],
  year: ["year"],
  month: ["month"],
  day: ["day"],
  category: ["category"],
  kind: ["kind", "action", "action_type", "event_type", "type", "dividend_type"],
  // Of tushare's two, the one before taxes, which the exchange's ex-price is of.
  cash: [
    "cash",
    "cash_div_tax",
    "dividends",
    "dividend",
    "cash_dividend",
    "cash_amount",
    "dividend_amount",
    "amount",
    "fenhong",
  ],
  ratio: ["ratio"],
  split: ["split", "splits", "stock_splits", "split_ratio", "split_coefficient", "suogu"],
  split_from: ["split_from"],
  split_to: ["split_to"],
  stock_dividend: ["stock_dividend", "stk_div", "songzhuangu"],
  // Of capital reserves, beside the stock dividend: sources name it.
  transferred: [],
  rights: ["rights", "peigu"],
  price: ["price", "subscription_price", "peigujia"],
  currency: ["currency"],
  announce_date: [
    "announce_date",
    "ann_date",
    "declaration_date",
    "declared_date",
    "announcement_date",
    "公告日期",
    "公告日",
    "实施方案公告日期",
  ],
  record_date: ["record_date", "股权登记日"],
  pay_date: ["pay_date", "payment_date", "payable_date", "派息日", "红利发放日"],
  source: ["source"],
};

/** Factors of ex-events, one event a row. */
export const FACTORS: Readonly<Record<string, readonly string[]>> = {
  symbol: ACTIONS.symbol as readonly string[],
  ex_date: [...(ACTIONS.ex_date as readonly string[]), "timestamp_ms"],
  factor: ["factor", "ex_factor"],
  // Of LEAN: what all events after a day come to.
  price_factor: ["price_factor"],
  split_factor: ["split_factor"],
  source: ["source"],
};

/** Names of the column with the last or first date of a symbol in lists of those that trade no longer. */
export const DELISTING_DATES: readonly string[] = [
  "delisting_date",
  "delist_date",
  "delisted_date",
  "退市日期",
];

/** What happened to symbols. */
export const SYMBOL_CHANGES: Readonly<Record<string, readonly string[]>> = {
  symbol: [
    "symbol",
    "old_symbol",
    "from_symbol",
    "oldsymbol",
    "old_ticker",
    "ts_code",
    "ticker",
    "code",
    "证券代码",
  ],
  new_symbol: ["new_symbol", "to_symbol", "newsymbol", "new_ticker"],
  from_date: ["from_date", "from", "effective_date", "change_date", ...DELISTING_DATES, "date"],
  until_date: ["until_date", "until"],
  kind: ["kind", "change_type", "type"],
  // Of LEAN: the symbol up to the row's date.
  map_ticker: ["map_ticker"],
  source: ["source"],
};
