/** A source whose files are recognised by their columns. */
export interface KnownSource {
  readonly name: string;
  /** Tables of which it delivers files: the beginnings of their names. */
  readonly table: string;
  /** Columns, in plain notation, that no other source has together. */
  readonly columns: readonly string[];
  /** Columns that its files do not have, and those of another source do. @default none */
  readonly without?: readonly string[];
  /** Units of its files of bars. @default shares and single units of the currency */
  readonly volumeUnit?: "lots";
  readonly amountUnit?: "thousands";
  /** Names of columns that only in its files are these fields, as they do not say for how many shares. @default none */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  /** Held shares for which its actions are. @default 1 */
  readonly forShares?: 10;
}

/** Units are as the documentation of each source states them; the numbers of a file must agree with them. */
export const SOURCES: readonly KnownSource[] = [
  {
    name: "tushare",
    table: "bars_1d",
    columns: ["ts_code", "trade_date", "pct_chg", "vol", "amount"],
    volumeUnit: "lots",
    amountUnit: "thousands",
  },
  { name: "tushare minutes", table: "bars_1m", columns: ["ts_code", "trade_time", "vol"] },
  {
    name: "akshare (Eastmoney)",
    table: "bars_1d",
    columns: ["日期", "开盘", "收盘", "成交量", "成交额", "振幅", "换手率"],
    volumeUnit: "lots",
  },
  {
    name: "akshare (Eastmoney) minutes",
    table: "bars_1m",
    columns: ["时间", "开盘", "收盘", "成交量", "成交额"],
    without: ["日期"],
    volumeUnit: "lots",
  },
  { name: "baostock", table: "bars_", columns: ["date", "code", "adjustflag"] },
  {
    name: "Tongdaxin",
    table: "bars_",
    columns: ["日期", "开盘", "最高", "最低", "收盘", "成交量", "成交额"],
    without: ["股票代码", "证券代码", "代码"],
  },
  {
    name: "Yahoo Finance",
    table: "bars_",
    columns: ["date", "open", "high", "low", "close", "adj_close", "volume"],
  },
  {
    name: "Yahoo Finance",
    table: "bars_",
    columns: ["date", "open", "high", "low", "close", "volume", "dividends", "stock_splits"],
  },
  {
    name: "Yahoo Finance",
    table: "corporate_actions",
    columns: ["date", "dividends", "stock_splits"],
  },
  {
    name: "Yahoo Finance",
    table: "corporate_actions",
    columns: ["date", "dividends"],
    without: ["symbol", "ticker", "code", "split", "splits", "kind"],
  },
  {
    name: "Tongdaxin",
    table: "corporate_actions",
    columns: ["year", "month", "day", "category", "fenhong", "songzhuangu", "peigu", "peigujia", "suogu"],
    forShares: 10,
  },
  // akfamily/akshare: stock_history_dividend_detail of dividends, and of rights; stock_fhps_em and stock_fhps_detail_em;
  // stock_dividend_cninfo.
  {
    name: "akshare (Sina)",
    table: "corporate_actions",
    columns: ["公告日期", "送股", "转增", "派息", "除权除息日"],
    names: { cash: ["派息"], stock_dividend: ["送股"], transferred: ["转增"] },
    forShares: 10,
  },
  {
    name: "akshare (Sina)",
    table: "corporate_actions",
    columns: ["公告日期", "配股方案", "配股价格", "除权日"],
    names: { rights: ["配股方案"], price: ["配股价格"] },
    forShares: 10,
  },
  {
    name: "akshare (Eastmoney)",
    table: "corporate_actions",
    columns: ["送转股份-送转总比例", "现金分红-现金分红比例", "除权除息日"],
    // The announcement of what was carried out: that of the plan does not have its dates yet.
    names: {
      cash: ["现金分红-现金分红比例"],
      stock_dividend: ["送转股份-送转总比例"],
      announce_date: ["最新公告日期"],
    },
    forShares: 10,
  },
  {
    name: "akshare (cninfo)",
    table: "corporate_actions",
    columns: ["送股比例", "转增比例", "派息比例", "除权日"],
    names: { cash: ["派息比例"], stock_dividend: ["送股比例"], transferred: ["转增比例"] },
    forShares: 10,
  },
  { name: "LEAN", table: "ex_factors", columns: ["date", "price_factor", "split_factor", "reference_price"] },
  { name: "LEAN", table: "symbol_changes", columns: ["date", "map_ticker"] },
  { name: "tushare", table: "corporate_actions", columns: ["ts_code", "cash_div_tax", "stk_div", "ex_date"] },
  {
    name: "Stooq",
    table: "bars_",
    columns: ["ticker", "per", "date", "time", "open", "high", "low", "close", "vol", "openint"],
  },
  {
    name: "Massive (Polygon) flat files",
    table: "bars_",
    columns: ["ticker", "volume", "open", "close", "high", "low", "window_start", "transactions"],
  },
  {
    name: "Alpha Vantage",
    table: "bars_",
    columns: ["timestamp", "open", "high", "low", "close", "adjusted_close", "volume", "dividend_amount"],
  },
  {
    name: "barlake",
    table: "bars_",
    columns: [
      "symbol",
      "timestamp",
      "trade_date",
      "open",
      "high",
      "low",
      "close",
      "volume",
      "amount",
      "lot",
      "is_final",
    ],
  },
];
