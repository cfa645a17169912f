import type { AmountUnit, VolumeUnit } from "../import-options.js";
import { type NamedUnit, splitUnit } from "./named-unit.js";

/** Names of columns by the field of corporate actions, in the notation of `plainName`: with an action a row, or with a column for each kind (`split`, `stock_dividend`, `rights`). */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
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

const FACTORS: Readonly<Record<string, readonly string[]>> = {
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

const SYMBOL_CHANGES: Readonly<Record<string, readonly string[]>> = {
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

/**
 * Names of columns by the field of the lake, in the notation of {@link plainName}. Where a file has several of them, the
 * first one counts that is listed, if they mean the same; two columns of one name are refused.
 */
const BARS: Readonly<Record<string, readonly string[]>> = {
  // Beside `ts_code`, which names the exchange, tushare's `symbol` is a bare code.
  symbol: [
    "ts_code",
    "symbol",
    "ticker",
    "code",
    "stock_code",
    "thscode",
    "order_book_id",
    "instrument",
    "secucode",
    "security",
    "name",
    "act_symbol",
    "symbols",
    "stock",
    "sec_code",
    "wind_code",
    "windcode",
    "2_symbol",
    "股票代码",
    "证券代码",
    "代码",
    "合约代码",
    "品种代码",
    "基金代码",
  ],
  timestamp: [
    "timestamp",
    "timestamp_ms",
    "datetime",
    "trade_time",
    "date_time",
    "bob",
    "eob",
    "time_key",
    "window_start",
    "candle_begin_time",
    "date",
    "trade_date",
    "tradedate",
    "trading_date",
    "day",
    "dt",
    "日期时间",
    "日期",
    "交易日期",
    "交易日",
    "时间",
    "time",
    "t",
    "index",
    "price_date",
    "unnamed_0",
    "",
  ],
  time_of_day: ["time", "时间", "minute", "hhmm"],
  open: ["open", "open_price", "openprice", "first", "o", "1_open", "开盘", "开盘价"],
  high: ["high", "high_price", "highprice", "max", "h", "2_high", "最高", "最高价"],
  low: ["low", "low_price", "lowprice", "min", "l", "3_low", "最低", "最低价"],
  close: [
    "close",
    "close_price",
    "closeprice",
    "last",
    "close_last",
    "c",
    "4_close",
    "收盘",
    "收盘价",
    "price",
  ],
  volume: [
    "volume",
    "vol",
    "vols",
    "trade_volume",
    "totalvolume",
    "total_volume",
    "v",
    "5_volume",
    "成交量",
    "总手",
    "成交数量",
  ],
  amount: [
    "amount",
    "turnover_value",
    "turnovervalue",
    "money",
    "total_turnover",
    "quote_volume",
    "turnover_amount",
    "成交额",
    "金额",
    "成交金额",
    "总金额",
  ],
  prev_close: [
    "prev_close",
    "pre_close",
    "preclose",
    "previous_close",
    "previousclose",
    "prevclose",
    "last_close",
    "昨收",
    "昨收价",
    "前收盘",
    "前收盘价",
  ],
  lot: ["lot"],
  open_interest: ["open_interest", "openinterest", "oi", "openint", "hold", "持仓量"],
  settlement_price: ["settlement_price", "settle", "settlement", "结算价"],
};

/** Daily bars of Yahoo Finance have the actions of their days beside them. */
const DAILY_BARS: typeof BARS = {
  ...BARS,
  dividend: ["dividends"],
  split: ["stock_splits"],
  capital_gain: ["capital_gains"],
};

const INSTRUMENTS: Readonly<Record<string, readonly string[]>> = {
  symbol: [
    "ts_code",
    "symbol",
    "ticker",
    "code",
    "stock_code",
    "act_symbol",
    "order_book_id",
    "a股代码",
    "股票代码",
    "证券代码",
    "代码",
  ],
  name: [
    "name",
    "display_name",
    "company_name",
    "security_name",
    "short_name",
    "a股简称",
    "股票简称",
    "证券简称",
    "名称",
    "股票名称",
  ],
  type: ["type", "instrument_type", "asset_type", "security_type", "类型"],
  listing_date: [
    "listing_date",
    "list_date",
    "ipo_date",
    "ipodate",
    "listed_date",
    "a股上市日期",
    "上市日期",
  ],
  total_shares: ["total_shares", "total_share", "shares_outstanding", "a股总股本", "总股本"],
  float_shares: ["float_shares", "float_share", "a股流通股本", "流通股本", "流通股"],
  lot_size: ["lot_size", "board_lot", "lot", "每手股数", "买卖单位"],
  tick_size: ["tick_size", "price_tick"],
  limit_up: ["limit_up", "up_limit"],
  limit_down: ["limit_down", "down_limit"],
  name_en: ["name_en", "enname", "english_name"],
};

const UNIVERSES: Readonly<Record<string, readonly string[]>> = {
  id: ["id", "universe", "universe_id", "index_code", "指数代码"],
  name: ["name", "index_name", "指数名称"],
  category: ["category"],
  region: ["region"],
  description: ["description"],
  symbols: ["symbols", "members", "constituents", "成分股", "成份股"],
  symbol: ["symbol", "con_code", "member", "ticker", "code", "成分券代码", "品种代码"],
  from_date: ["from_date", "from", "in_date", "date_in", "start_date", "纳入日期"],
  // The first day on which it is no member.
  to_date: ["to_date", "to", "out_date", "date_out", "剔除日期"],
  source: ["source"],
};

/** Fields of all tables of statements, and the items of some of them under the names of usual sources. */
const STATEMENTS: Readonly<Record<string, readonly string[]>> = {
  symbol: ["ts_code", "symbol", "ticker", "code", "stock_code", "secucode", "股票代码", "证券代码", "代码"],
  period_end: [
    "period_end",
    "end_date",
    "report_date",
    "reportdate",
    "statdate",
    "fiscal_date_ending",
    "fiscaldateending",
    "报告期",
    "报告日",
    "报告日期",
    "截止日期",
    // Sources of the US write the name of a quarter into it, and the last day into another column.
    "period",
  ],
  announce_date: [
    "announce_date",
    "ann_date",
    "notice_date",
    "pubdate",
    "file_date",
    "filing_date",
    "filingdate",
    "fillingdate",
    "reported_date",
    "公告日期",
    "公告日",
    "最新公告日期",
  ],
  // Of both, total revenue is the wider one, as at tushare.
  revenue: ["revenue", "total_revenue", "totalrevenue", "营业收入", "营业总收入"],
  total_revenue: ["营业总收入"],
  operating_cost: ["operating_cost", "营业成本"],
  operating_profit: ["operating_profit", "operate_profit", "营业利润"],
  total_profit: ["total_profit", "利润总额"],
  net_income: ["net_income", "n_income", "netincome", "净利润"],
  net_income_attributable: [
    "net_income_attributable",
    "n_income_attr_p",
    "归母净利润",
    "归属于母公司所有者的净利润",
    "归属于母公司股东的净利润",
  ],
  net_income_deducted: [
    "net_income_deducted",
    "扣非净利润",
    "扣非归母净利润",
    "扣除非经常性损益后的净利润",
    "扣除非经常性损益后的归属于母公司股东的净利润",
  ],
  selling_expense: ["selling_expense", "销售费用"],
  admin_expense: ["admin_expense", "管理费用"],
  rd_expense: ["rd_expense", "研发费用"],
  financial_expense: ["financial_expense", "财务费用"],
  income_tax: ["income_tax", "所得税费用", "所得税"],
  non_operating_income: ["non_operating_income", "营业外收入"],
  non_operating_expense: ["non_operating_expense", "营业外支出"],
  basic_eps: ["basic_eps", "基本每股收益"],
  diluted_eps: ["diluted_eps", "稀释每股收益"],
  bps: ["bps", "每股净资产"],
  cash_and_equivalents: ["cash_and_equivalents", "货币资金"],
  accounts_receivable: ["accounts_receivable", "应收账款"],
  inventory: ["inventory", "存货"],
  total_current_assets: ["total_current_assets", "流动资产合计"],
  fixed_assets: ["fixed_assets", "固定资产"],
  intangible_assets: ["intangible_assets", "无形资产"],
  goodwill: ["goodwill", "商誉"],
  total_non_current_assets: ["total_non_current_assets", "非流动资产合计"],
  total_assets: ["total_assets", "totalassets", "资产总计", "资产合计"],
  short_term_borrowing: ["short_term_borrowing", "短期借款"],
  accounts_payable: ["accounts_payable", "应付账款"],
  total_current_liabilities: ["total_current_liabilities", "流动负债合计"],
  long_term_borrowing: ["long_term_borrowing", "长期借款"],
  total_non_current_liabilities: ["total_non_current_liabilities", "非流动负债合计"],
  total_liabilities: ["total_liabilities", "total_liab", "负债合计"],
  retained_earnings: ["retained_earnings", "未分配利润"],
  minority_interest: ["minority_interest", "少数股东权益"],
  equity_attributable: [
    "equity_attributable",
    "归属于母公司所有者权益合计",
    "归属于母公司股东权益合计",
    "归属于母公司股东的权益",
  ],
  total_equity: ["total_equity", "total_hldr_eqy_inc_min_int", "所有者权益合计", "股东权益合计"],
  net_operating_cash_flow: ["net_operating_cash_flow", "n_cashflow_act", "经营活动产生的现金流量净额"],
  net_investing_cash_flow: ["net_investing_cash_flow", "n_cashflow_inv_act", "投资活动产生的现金流量净额"],
  net_financing_cash_flow: ["net_financing_cash_flow", "n_cash_flows_fnc_act", "筹资活动产生的现金流量净额"],
  net_cash_change: ["net_cash_change", "现金及现金等价物净增加额"],
  capex: [
    "capex",
    "购建固定资产、无形资产和其他长期资产支付的现金",
    "购建固定资产、无形资产和其他长期资产所支付的现金",
  ],
  total_shares: ["total_shares", "total_share", "总股本", "总股数"],
  float_shares: ["float_shares", "float_share", "流通股本", "流通股"],
};

/** Names of items that are others in the table of key figures. */
const METRICS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(STATEMENTS).filter(([name]) => !/^(?:basic|diluted)_eps$/.test(name))),
  eps_basic: ["eps_basic", "basic_eps", "基本每股收益"],
  eps_diluted: ["eps_diluted", "diluted_eps", "稀释每股收益"],
};

export function fieldNames(table: string): Readonly<Record<string, readonly string[]>> {
  if (table === "bars_1d") return DAILY_BARS;
  if (table.startsWith("bars_")) return BARS;
  if (table === "instruments") return INSTRUMENTS;
  if (table === "corporate_actions") return ACTIONS;
  if (table === "ex_factors") return FACTORS;
  if (table === "symbol_changes") return SYMBOL_CHANGES;
  if (table === "metrics") return METRICS;
  return table === "universes" ? UNIVERSES : STATEMENTS;
}

/**
 * A name of a column without what sources add to it: case, blanks, the angle brackets of MetaStock, quotes, a unit
 * at its end, and what forms of statements write before an item.
 */
export function plainName(name: string): string {
  const plain = name
    .normalize("NFKC")
    .trim()
    .toLowerCase()
    .replace(/^[<"']+|[>"']+$/g, "");
  return splitUnit(plain)
    .name.replace(BEFORE_ITEM, "")
    .replace(/^#\s*/, "")
    .trim()
    .replace(/[\s./:]+/g, "_")
    .replace(/(?<=.)_+$/, "");
}

/** Numbers of paragraphs and words of a form before the name of an item: `一、营业总收入`, `减：营业成本`. */
const BEFORE_ITEM = /^(?:(?:[一二三四五六七八九十]+、|\([一二三四五六七八九十]+\)|其中:|减:|加:)\s*)+/;

const VOLUME_UNITS: Readonly<Record<number, VolumeUnit>> = {
  0: "shares",
  3: "thousands",
  4: "ten-thousands",
};
const AMOUNT_UNITS: Readonly<Record<number, AmountUnit>> = {
  0: "ones",
  3: "thousands",
  4: "ten-thousands",
  6: "millions",
  8: "hundred-millions",
  9: "billions",
};

/** A unit of volumes as an option; undefined where no option is of it. */
export function volumeUnit({ of, exponent }: NamedUnit): VolumeUnit | undefined {
  if (of === "lots") return exponent === 0 ? "lots" : undefined;
  return of === "money" ? undefined : VOLUME_UNITS[exponent];
}

/** A unit of amounts of money as an option; undefined where no option is of it. */
export function amountUnit({ of, exponent }: NamedUnit): AmountUnit | undefined {
  return of === undefined || of === "money" ? AMOUNT_UNITS[exponent] : undefined;
}

/** What can be done with a column that has no place in the lake. */
export const UNUSED_ADVICE: readonly (readonly [names: RegExp, advice: string])[] = [
  [
    /^(adj_?close|adjclose|adjusted_close|close_hfq|close_qfq|复权收盘价)$/,
    "adjusted prices are no traded prices; the lake adjusts by ex-events: prev_close is one witness of them",
  ],
  [
    /^(dividends?|dividend_amount|stock_splits|splits?|split_coefficient)$/,
    "`barlake import corporate_actions` lands them from this file",
  ],
  [
    /^(capital_gains|split_factor|adj_factor|ex_factor)$/,
    "the lake adjusts by ex-events: prev_close is one witness of them",
  ],
  [
    /^(vwap|average|均价|change|pct_chg|pctchg|涨跌幅|涨跌额|振幅|换手率|turn|transactions|trade_count|n|vw|peTTM|pettm|pbmrq|isst|tradestatus|adjustflag)$/i,
    "can be computed, or is of another table",
  ],
];
