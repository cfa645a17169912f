import { languageOf } from "../../core/language.js";

export const isChinese =
  // Not every version of Node has it, in which tests load this file.
  languageOf((globalThis as { readonly navigator?: { readonly language: string } }).navigator?.language) ===
  "zh";

/** Texts by name, each in English and in Chinese: returns them in the language of the browser. */
export function texts<N extends string>(
  both: Readonly<Record<N, readonly [english: string, chinese: string]>>,
): (name: N) => string {
  return (name) => both[name][isChinese ? 1 : 0];
}

export type TextName = Parameters<typeof text>[0];

export const text = texts({
  lake: ["Lake", "数据湖"],
  instrument: ["Instrument", "标的"],
  notebooks: ["Notebooks", "笔记"],
  runsView: ["Runs", "运行"],
  quality: ["Quality", "质量"],
  search: ["Find an instrument", "查找标的"],
  searchHint: ["Code, name or English name; / comes here", "代码、名称或英文名；按 / 跳到这里"],
  nothingFound: ["No instrument of this lake fits.", "数据湖中没有符合的标的。"],
  skip: ["To the content", "跳到正文"],
  newVersion: ["The lake has changed", "数据湖有新版本"],
  show: ["Show it", "显示"],
  newest: ["newest", "最新"],
  asOf: ["as of", "截至"],
  asOfTitle: ["Version of the lake", "数据湖当时的样子"],
  backToNewest: ["Back to the newest", "回到最新"],
  asOfNow: ["Newest version of each table", "每张表的最新版本"],
  known: ["known at", "已知截至"],
  knownTitle: ["What was known at the end of a day", "某日收盘后已知的内容"],
  knownHelp: [
    "Bars, statements, actions and names as they were known then; nothing that was learned later.",
    "只显示当日结束时已知的行情、财报、公司行动和名称，之后才知道的一律不显示。",
  ],
  knownNow: ["Everything", "全部"],
  assumeReference: [
    "Instruments that the lake first saw later were the same before",
    "之后才首次见到的标的视为此前不变",
  ],
  noEarlier: ["The lake has no version that is more than a minute older.", "没有再早一分钟以上的版本。"],
  market: ["Market", "市场"],
  session: ["session of", "交易日"],
  bar: ["bar", "根K线"],
  bars: ["bars", "根K线"],
  up: ["up", "上涨"],
  down: ["down", "下跌"],
  unchanged: ["unchanged", "平盘"],
  unknown: ["without previous close", "无昨收"],
  notFinal: ["not final yet", "尚未定稿"],
  allFinal: ["all final", "全部定稿"],
  closed: ["closed", "休市"],
  pre_market: ["before the session", "盘前"],
  regular: ["in session", "交易中"],
  lunch_break: ["lunch break", "午间休市"],
  after_hours: ["after hours", "盘后"],
  mostTraded: ["Most traded", "成交额居前"],
  amount: ["amount", "成交额"],
  noBars: ["This lake has no daily bar yet.", "数据湖还没有日线。"],
  noBarsHint: ["npx barlake run daily", "npx barlake run daily"],
  coverage: ["Coverage", "覆盖"],
  coverageNote: [
    "Days of instruments, by month. A month opens the list of what it lacks.",
    "按月统计的标的交易日。点开某月可见缺少的内容。",
  ],
  noMonths: ["There is no bar, and no request for bars.", "没有K线，也没有K线的请求。"],
  imported: [
    "No request is recorded: the bars were imported. Shade: sessions with bars.",
    "没有请求记录：K线是导入的。深浅表示有K线的交易日。",
  ],
  past: [
    "Requests are compared with the calendar at the newest version only. Shade: sessions with bars.",
    "只在最新版本上将请求与日历比较。深浅表示有K线的交易日。",
  ],
  answered: ["answered and final", "已答复且定稿"],
  open: ["asked, no bar, not explained", "已请求、无K线、未解释"],
  gap: ["never asked", "从未请求"],
  hasBars: ["has bars", "有K线"],
  missing: ["lack days", "缺少交易日"],
  nothingMissing: ["Nothing is missing in this month.", "本月没有缺失。"],
  notCompared: [
    "Requests are not compared here. The rules of data quality find what other days of a symbol have:",
    "这里不与请求比较。数据质量规则按标的的其他交易日查找：",
  ],
  withoutBars: ["sessions without a bar", "没有K线的交易日"],
  repairs: ["This fills them:", "补齐的命令："],
  copy: ["Copy", "复制"],
  copied: ["Copied", "已复制"],
  close: ["Close", "关闭"],
  days: ["days", "天"],
  from: ["from", "从"],
  to: ["to", "到"],
  symbol: ["symbol", "代码"],
  why: ["why", "原因"],
  tables: ["Tables", "表"],
  table: ["table", "表"],
  rows: ["rows", "行数"],
  size: ["size", "大小"],
  files: ["files", "文件"],
  version: ["version", "版本"],
  changed: ["changed", "更新"],
  span: ["days", "日期"],
  total: ["in all", "合计"],
  free: ["free on the disk", "磁盘剩余"],
  refused: ["cannot be read", "无法读取"],
  runs: ["Last runs", "最近的运行"],
  pipeline: ["pipeline", "流水线"],
  status: ["status", "状态"],
  began: ["began (UTC)", "开始 (UTC)"],
  took: ["took", "耗时"],
  requests: ["requests", "请求"],
  failed: ["failed", "失败"],
  inserted: ["inserted", "新增"],
  updated: ["updated", "更新"],
  rejected: ["set aside", "剔除"],
  received: ["received", "接收"],
  noRuns: ["No pipeline has run yet.", "还没有运行过流水线。"],
  noRunsHint: ["npx barlake schedule", "npx barlake schedule"],
  loading: ["Loading", "加载中"],
  period: ["Period", "周期"],
  adjustment: ["Adjustment", "复权"],
  forward: ["Forward", "前复权"],
  backward: ["Backward", "后复权"],
  forward_additive: ["Forward +", "前复权 +"],
  backward_additive: ["Backward +", "后复权 +"],
  none: ["None", "不复权"],
  forwardSays: ["adjusted forward: the newest prices are as traded", "前复权：最新价格为成交价"],
  backwardSays: ["adjusted backward: the oldest prices are as traded", "后复权：最早价格为成交价"],
  forward_additiveSays: [
    "adjusted forward by amounts: the newest prices are as traded",
    "按金额前复权：最新价格为成交价",
  ],
  backward_additiveSays: [
    "adjusted backward by amounts: the oldest prices are as traded",
    "按金额后复权：最早价格为成交价",
  ],
  noneSays: ["not adjusted: as traded", "不复权：成交价"],
  unadjustedSays: ["no ex-event is known: prices are as traded", "未知任何除权除息：成交价"],
  unadjustedOf: ["no ex-event is known of", "未知除权除息："],
  averages: ["Averages", "均线"],
  log: ["Log scale", "对数坐标"],
  marks: ["Marks", "标记"],
  compare: ["Compare", "对比"],
  comparedSays: ["comparison: changes since the first bar in view", "对比：自图中第一根K线起的变化"],
  rising: ["Rising", "上涨颜色"],
  risingAuto: ["by market", "按市场"],
  risingRed: ["red", "红"],
  risingGreen: ["green", "绿"],
  previous: ["Previous instrument", "上一个标的"],
  next: ["Next instrument", "下一个标的"],
  noBarsOf: ["The lake has no bar of it in this period.", "数据湖没有它在此周期的K线。"],
  noMinutesHint: ["npx barlake run minute --symbols", "npx barlake run minute --symbols"],
  noDaysHint: ["npx barlake run daily --symbols", "npx barlake run daily --symbols"],
  earlier: ["loading earlier bars", "加载更早的K线"],
  priceUnit: ["prices in the currency of the quotation, volume in shares", "价格为报价货币，成交量为股"],
  exEvents: ["Splits and dividends", "除权除息"],
  statements: ["Statements", "财务报表"],
  statementsNote: ["As they were known at the end of", "截至当日收盘已知的报表："],
  today: ["now", "现在"],
  noStatements: ["No statement of it was known then.", "当时没有已知的报表。"],
  noStatementsHint: ["npx barlake run financials", "npx barlake run financials"],
  exDate: ["ex-date", "除权日"],
  event: ["what", "内容"],
  factor: ["factor", "因子"],
  cash_dividend: ["Dividend", "派息"],
  stock_dividend: ["Stock dividend", "送股"],
  split: ["Split", "拆股"],
  consolidation: ["Consolidation", "合股"],
  rights: ["Rights", "配股"],
  spin_off: ["Spin-off", "分拆"],
  other: ["Other", "其他"],
  restated: ["Close", "昨收"],
  announced: ["announced", "公告"],
  paid: ["paid", "派发"],
  byFactor: ["factor of", "因子来源"],
  byActions: ["factor from the actions of", "因子由公司行动算出"],
  byPrevClose: ["factor from the stated previous close", "因子由公布的昨收算出"],
  noFactor: ["prices are not adjusted by it", "价格未按它复权"],
  newestEvents: ["Only the newest 1,000 are listed.", "只列出最近 1,000 条。"],
  more: ["more", "条更多"],
  noEvents: [
    "No ex-event is known: no previous close differs from the last close. Every adjustment shows the prices as traded.",
    "未知任何除权除息：昨收与前一收盘一致。各种复权都显示成交价。",
  ],
  noPrevClose: [
    "No ex-event is known: its bars state no previous close. Every adjustment shows the prices as traded.",
    "未知任何除权除息：它的K线没有公布昨收。各种复权都显示成交价。",
  ],
  holes: [
    "Not adjusted for: the lake lacks days that were not requested, and a price differs over them:",
    "未复权：数据湖缺少未请求过的日子，而价格在其间不同：",
  ],
  brings: ["This brings it:", "获取的命令："],
  listed: ["listed", "上市"],
  nameSince: ["since", "自"],
  millions: ["millions of the currency of the statement", "报表货币，亿"],
  keys: [
    "Keys: / search, 1 to 9, 0 and - periods, ← → previous and next instrument, L log scale",
    "按键：/ 查找，1 到 9、0、- 周期，← → 上一个、下一个标的，L 对数坐标",
  ],
  ownNotebooks: ["Yours", "自己的"],
  shipped: ["Come with barlake", "barlake 自带"],
  noNotebooks: [
    "Notebooks of your own are the .sql files of the folder that --notebooks names.",
    "自己的笔记是 --notebooks 所指文件夹里的 .sql 文件。",
  ],
  parameters: ["Parameters", "参数"],
  running: ["running", "运行中"],
  ran: ["ran", "已运行"],
  stoppedRun: ["stopped", "已停止"],
  cells: ["cells", "个单元"],
  offline: ["the workspace does not respond", "工作台没有响应"],
  offlineHint: ["start it again: barlake ui", "请重新启动：barlake ui"],
  openBar: ["not final", "未定稿"],
  searchBy: ["Code, name or English name", "代码、名称或英文名"],
  noPage: ["The workspace has no page", "工作台没有此页："],
  noSymbol: [
    "no symbol of the form 600519.SH, 00700.HK or AAPL.US",
    "不是 600519.SH、00700.HK 或 AAPL.US 形式的代码",
  ],
  unknownSymbol: ["the lake does not know this instrument", "数据湖没有此标的"],
  range: ["Range", "范围"],
  until: ["Until", "至"],
  beginsAt: ["The lake has nothing earlier: its bars of this period begin", "没有更早的K线，此周期始于"],
  watch: ["Watch", "自选"],
  watched: ["Watched", "自选"],
  openAt: ["O", "开"],
  highAt: ["H", "高"],
  lowAt: ["L", "低"],
  closeAt: ["C", "收"],
  volumeOf: ["V", "量"],
  noTrade: ["no bar", "无K线"],
  asStored: [
    "Rows, sizes, files and versions are those that are stored; what is known later than the chosen day is counted, too.",
    "行数、大小、文件和版本为存储的全部，也包括所选日期之后才知道的内容。",
  ],
  noData: ["asked, no data", "已请求、无数据"],
});

/** Comments of tables, descriptions of pipelines, kinds of instruments, and why nothing can be run, in Chinese. */
const TRANSLATED: Readonly<Record<string, string>> = {
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
  "write it like 2026-11-20T08:30:00Z": "请写成 2026-11-20T08:30:00Z",
  "barlake runs lists them": "用 barlake runs 列出",
  "this version of the lake is no longer open": "数据湖的此版本已关闭",
  "reload the page": "请重新加载页面",
  "the workspace is closing": "工作台正在关闭",
  "run it again, or with barlake sql": "请重新运行，或用 barlake sql",
  "only the workspace's own page sends this": "只有工作台自己的页面可以发送此请求",
  "this result is no longer stored": "此结果已不再保存",
  "run the cell again": "请重新运行此单元",
  "shorten their values": "请缩短它们的值",
  "select fewer columns or shorter texts; its file can be saved":
    "请选择更少的列或更短的文本；可以导出为文件",
  "letters and digits, and among them blanks and . _ - ( ) + , make a name":
    "名称由字母和数字组成，中间可有空格和 . _ - ( ) + ,",
  "convert it to UTF-8 first, or save under another name": "请先转换为 UTF-8，或另存为其他名称",
  "the workspace has no folder for notebooks": "工作台没有笔记文件夹",
  "start it with: barlake ui --notebooks FOLDER": "请这样启动：barlake ui --notebooks FOLDER",
  "make it first, or start: barlake ui --notebooks ANOTHER":
    "请先建立它，或这样启动：barlake ui --notebooks ANOTHER",
  "choose another name": "请换一个名称",
  "narrow it down by symbol or date; barlake sql has no limit of time":
    "请按代码或日期缩小范围；barlake sql 没有时间限制",
  "this statement is not permitted: the workspace only reads the lake": "不允许此语句：工作台只读取数据湖",
  "narrow it down by symbol or date, or to fewer columns and shorter texts; barlake sql has no such limit":
    "请按代码或日期缩小范围，或减少列、缩短文本；barlake sql 没有此限制",
  "narrow it down by symbol or date, or to fewer columns and shorter texts; barlake sql has more memory":
    "请按代码或日期缩小范围，或减少列、缩短文本；barlake sql 的内存更多",
  "export the result": "请导出结果",
  "wait for it to end, or stop it": "请等它结束，或停止它",
  "cast it, or name another column": "请转换类型，或用其他列",
  "name a DATE or TIMESTAMP column": "请用 DATE 或 TIMESTAMP 列",
  "a chart shows the bars of one instrument: filter by symbol": "图表只显示一个标的的K线：请按代码筛选",
  "it was moved or deleted, or its disk is not there; once it is back, the page goes on":
    "它被移动或删除，或磁盘不在；恢复后页面会继续",
};

/** A text of the lake in the language of the browser. A text that is not known, such as one of the user, remains. */
export function translated(english: string): string {
  return (isChinese ? TRANSLATED[english] : undefined) ?? english;
}

/** Units of columns in Chinese. */
const UNITS: Readonly<Record<string, string>> = {
  currency: "货币",
  ratio: "倍",
  shares: "股",
  "lot shares": "手",
  bars: "根",
  days: "天",
  contracts: "手（合约）",
  "currency a share": "货币 / 股",
  "shares a share": "股 / 股",
  "as delivered": "按送达",
  instruments: "个标的",
  sessions: "个交易日",
  minutes: "分钟",
  "log ratio": "对数比率",
  bytes: "字节",
  ms: "毫秒",
  interval: "时长",
  "ratio, or currency": "倍，或货币",
};

/** A unit of a column in the language of the browser; where it is not known as it is. */
export function unitText(unit: string): string {
  return (isChinese ? UNITS[unit] : undefined) ?? unit;
}
