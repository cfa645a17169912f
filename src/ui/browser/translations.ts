import { isChinese } from "./texts.js";

/** Comments of tables, descriptions of pipelines, kinds of instruments, and why nothing can be run, in Chinese. */
const CHINESE: Readonly<Record<string, string>> = {
  "Daily bars as delivered, unadjusted.": "日线，按送达的原值，不复权。",
  "One-minute bars as delivered, unadjusted.": "一分钟线，按送达的原值，不复权。",
  "Instrument metadata as dated versions: a row for each content ever seen.":
    "标的资料的历次版本：每种见过的内容一行。",
  "Exchanges as dated versions.": "交易所的历次版本。",
  "Named groups of instruments as dated versions.": "标的分组的历次版本。",
  "Members of universes as dated versions: from when to when each was seen, or was by an import.":
    "分组成员的历次版本：每个成员从何时到何时被见到，或由导入的数据说明。",
  "The days on which a region traded, from its index's daily bars, else from the days on which most symbols traded.":
    "各地区的交易日：取自指数日线，否则取多数标的有交易的日子。",
  "Stretches of days for which daily bars of a symbol were requested, and the service had none. Days of a stretch that are no trading days say nothing.":
    "已请求某标的日线而服务没有数据的日期区间；区间内的非交易日不说明什么。",
  "Balance sheets: one row for each version of a statement that was ever seen.":
    "资产负债表：每份报表见过的每个版本一行。",
  "Cash flow statements: one row for each version of a statement that was ever seen.":
    "现金流量表：每份报表见过的每个版本一行。",
  "Income statements: one row for each version of a statement that was ever seen.":
    "利润表：每份报表见过的每个版本一行。",
  "Key figures of reporting periods: one row for each version of a statement that was ever seen.":
    "报告期主要指标：见过的每个版本一行。",
  "Numbers of shares: one row for each version of a statement that was ever seen.":
    "股本：见过的每个版本一行。",
  "Corporate actions: one row for each version of an action that was ever seen.":
    "公司行动：见过的每个版本一行。",
  "Factors of ex-events as sources state them, one event a row.": "各来源给出的除权因子，每个事件一行。",
  "What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings.":
    "各来源给出的代码变更：更名、合并、代码转给其他公司、退市。",
  "The ledger of everything that was asked of a service, and what came back.":
    "请求台账：向服务请求过的一切，以及收到的结果。",
  "Every run of a pipeline, and what came of it.": "流水线的每次运行及其结果。",
  "Daily bars of every stock and ETF, their whole history, and the factors of their ex-events.":
    "所有股票和 ETF 的日线及其除权因子，全部历史。",
  "Balance sheets, cash flows, income, key figures and shares; every version that is ever seen is stored.":
    "资产负债表、现金流量表、利润表、主要指标和股本；保存见过的每个版本。",
  "One-minute bars of the latest trading day, whole universes at a time.":
    "最近交易日的一分钟线，每次请求整个分组。",
  "One-minute bars of Chinese stocks and ETFs, of the last year: services have no more.":
    "中国股票和 ETF 最近一年的一分钟线：服务没有更早的。",
  "Exchanges, instruments, universes and their members, as dated snapshots.":
    "交易所、标的、分组及其成员，按日期的快照。",
  stock: "股票",
  etf: "ETF",
  index: "指数",
  bond: "债券",
  fund: "基金",
  futures: "期货",
  options: "期权",
  other: "其他",
  bars: "K线",
  statements: "报表",
  intraday: "盘中",
  reference: "基础资料",
  "this workspace was started without a key": "启动工作台时没有密钥",
  "set BARLAKE_URL and BARLAKE_API_KEY, in the environment or in .env, and start barlake ui again":
    "在环境变量或 .env 里设置 BARLAKE_URL 和 BARLAKE_API_KEY，再重新启动 barlake ui",
  "no service to ask": "没有可请求的服务",
  "set BARLAKE_URL, url in barlake.config.json, or --url; barlake serve is such a service; then start barlake ui again":
    "设置 BARLAKE_URL、barlake.config.json 里的 url 或 --url（barlake serve 就是这样的服务），再重新启动 barlake ui",
  "no API key": "没有 API 密钥",
  "set BARLAKE_API_KEY, in the environment or in .env; then start barlake ui again":
    "在环境变量或 .env 里设置 BARLAKE_API_KEY，再重新启动 barlake ui",
};

/** A text of the lake in the language of the browser. A text that is not known, such as one of the user, remains. */
export function translated(text: string): string {
  return (isChinese ? CHINESE[text] : undefined) ?? text;
}
