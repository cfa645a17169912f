import type { ListPage } from "../../quality/quality-data.js";
import { isChinese, texts } from "../texts.js";

/** The symbol in the addresses of findings without a symbol. */
const NO_SUBJECT = "-";

export const qualityText = texts({
  quality: ["Data quality", "数据质量"],
  note: [
    "Whether the rows agree with one another, and what the requests left open. A finding is a reason to look, not proof of an error.",
    "数据行之间的矛盾，以及请求留下的缺口。发现是疑问，不一定是错误。",
  ],
  rule: ["rule", "规则"],
  findings: ["findings", "发现"],
  findingsTitle: ["Findings", "发现"],
  subjects: ["symbols", "标的数"],
  other: ["other", "其他"],
  days: ["days", "日期"],
  region: ["region", "地区"],
  all: ["all", "全部"],
  filter: ["Filter", "筛选"],
  symbolPart: ["symbol contains", "代码包含"],
  counting: ["counting", "统计中"],
  waiting: ["waits", "等待"],
  nothing: ["No finding", "没有发现"],
  unknown: ["Not known", "未知"],
  imported: [
    "No request is recorded: the bars were imported. A run of a pipeline records what it requests.",
    "没有请求记录：K线是导入的。运行流水线会记录请求。",
  ],
  past: [
    "Only the newest version is compared: requests and rows set aside have no earlier versions.",
    "只比较最新版本：请求和剔除的行没有早期版本。",
  ],
  runAll: ["All of them, without a limit of time:", "运行全部规则，不限时间："],
  damage: [
    "This page does not search for damaged files. This reads every file:",
    "这里不检查损坏的文件。读取全部文件：",
  ],
  tryAgain: ["Try again", "重试"],
  worst: ["Symbols with the most findings come first.", "发现最多的标的排在前面。"],
  noneFits: ["No finding fits.", "没有符合的发现。"],
  noSymbol: ["without a symbol", "没有代码"],
  back: ["All rules", "全部规则"],
  page: ["page", "第"],
  of: ["of", "/"],
  inAll: ["in all", "合计"],
  narrower: ["Further ones are found by a narrower filter.", "缩小筛选可找到其余的。"],
  earlierPage: ["Previous page", "上一页"],
  laterPage: ["Next page", "下一页"],
  choose: ["A finding shows its bars.", "点开一条发现可见其K线。"],
  values: ["Values", "数值"],
  inQuestion: ["in question", "有疑问"],
  noBar: ["no bar", "无K线"],
  hasMore: ["The newest of the stretch are listed.", "只列出区间里最新的。"],
  asLanded: [
    "prices as they landed, not adjusted; days of the exchange's own calendar",
    "价格为入库时的原值，不复权；日期为交易所当地日历",
  ],
  noEvidence: [
    "This finding is about no bar: its values say everything.",
    "这条发现与K线无关：数值已说明全部。",
  ],
  noDay: ["It names no day, so no bar can be shown.", "它没有日期，无法显示K线。"],
  repairs: ["This repairs it:", "修复的命令："],
  explains: ["This shows more:", "查看更多："],
  toInstrument: ["Open in the view Instrument", "在标的视图打开"],
  error: ["error", "错误"],
  warning: ["warning", "警告"],
  info: ["worth knowing", "提示"],
  yes: ["yes", "是"],
  no: ["no", "否"],
  rules: ["rules", "条规则"],
  withFindings: ["with findings", "条有发现"],
  notKnown: ["not known", "条未知"],
});

const COLUMNS: Readonly<Record<string, string>> = {
  region: "地区",
  symbol: "代码",
  trade_date: "交易日",
  timestamp: "时间",
  open: "开盘",
  high: "最高",
  low: "最低",
  close: "收盘",
  volume: "成交量",
  amount: "成交额",
  prev_close: "昨收",
  base: "基准价",
  lot: "每手股数",
  is_final: "已定稿",
  bars: "K线数",
  first_label: "首根",
  last_label: "末根",
  first_date: "首日",
  last_date: "末日",
  dataset: "表",
  rule: "规则",
  kind: "类型",
  days: "天数",
  sessions: "交易日数",
  missing_minutes: "缺少分钟",
  simple_return: "收益率",
  usual_return: "通常收益率",
  times: "倍数",
  ratio: "比率",
  vwap: "均价",
  traded: "交易过",
  still_listed: "仍上市",
  share: "占比",
  first_list: "首个列表",
  left_lists: "离开列表",
  in_no_list: "不在列表",
};

/** A column of findings in the language of the browser; where it is not known its name. */
export function columnText(name: string): string {
  return (isChinese ? COLUMNS[name] : undefined) ?? name.replaceAll("_", " ");
}

export function whyNone({ unknown }: Pick<ListPage<unknown>, "unknown">): string {
  return unknown === undefined
    ? qualityText("noneFits")
    : `${qualityText("unknown")}: ${qualityText(unknown)}`;
}

export function subjectName(subject: string): string {
  return subject === NO_SUBJECT ? qualityText("noSymbol") : subject;
}

/** The titles of the rules, and their meaning in Chinese. The English explanation comes with the rule. */
const RULES: Readonly<Record<string, readonly [title: string, chineseTitle: string, chinese: string]>> = {
  amounts: [
    "Volume without amount",
    "有量无额",
    "有成交量但没有成交额：来源不提供成交额，无法计算均价，也无法核对单位。",
  ],
  announced_before_end: [
    "Announced before the period ended",
    "公告早于报告期末",
    "公告日早于报告期末不可能成立：日期有误，回测会过早使用它。",
  ],
  idle_dates: [
    "Dates without any volume",
    "全无成交的日期",
    "某地区当日所有日线都没有成交量：来源用上一收盘价填充的假日。",
  ],
  minute_labels: [
    "Minutes in the midday break",
    "午间休市的分钟线",
    "CN、HK 的分钟线标在午间休市内，会归入错误的小时。",
  ],
  missing_days: [
    "Sessions without a daily bar",
    "缺少日线的交易日",
    "首尾日线之间缺少交易日：停牌，或数据缺口。",
  ],
  missing_sessions: [
    "Sessions without minutes",
    "缺少分钟线的交易日",
    "首尾之间整天没有分钟线：来源缺文件，或从未请求。",
  ],
  no_session: [
    "Bars on days without a session",
    "非交易日的日线",
    "周末或休市日的日线：填充的假日，或日期有误。",
  ],
  ohlc: [
    "Prices that contradict one another",
    "价格自相矛盾",
    "价格为 0、最高价不是最高、最低价不是最低等。",
  ],
  outliers: [
    "Returns out of proportion",
    "异常收益",
    "当日收益远超前 60 根：来源未注明的拆分或送股，或价格有误。",
  ],
  repeated: ["Repeated bars", "重复的日线", "有成交量却与前一日完全相同，或连续五日同价，或一日两根。"],
  impossible_bars: [
    "Impossible bars",
    "不可能的 K 线",
    "未来、1900 年以前、不在零点的日线，或含非数值：早期版本或其他程序写入。",
  ],
  short_days: ["Days with too few minutes", "分钟不足的交易日", "CN、HK 某日分钟数少于交易时段。"],
  stale: ["Stale prices", "价格不动", "连续五根以上同价且无成交量：来源填充的停牌日。"],
  statement_dates: [
    "Statements without announcement date",
    "报表缺公告日",
    "没有公告日的报表只从数据湖首次见到之日起算已知。",
  ],
  survivors: [
    "Survivors only",
    "只有幸存者",
    "年末交易过的标的如今全部仍在列表：首次获取列表前退市的都缺失，地区全市场的回测结果偏高；或有标的不在任何列表，按类型筛选的数据集会漏掉它们。",
  ],
  tiny_amounts: ["Tiny amounts", "过小的成交额", "成交额大于 0 而小于 0.01：数字格式读错。"],
  units: [
    "Units that do not fit",
    "单位不符",
    "成交额 /（量 × 每手股数）不在最高最低价之间：量或额的单位有误。",
  ],
  ex_witnesses: [
    "Ex-events with differing witnesses",
    "除权证据不一",
    "各来源的除权因子、公司行动与昨收相差超过千分之一：价格按第一个证据调整。",
  ],
  unvouched_closes: [
    "Price steps over missing days",
    "缺日上的价格跳变",
    "昨收与前一根收盘不同，而其间的交易日未请求或被剔除：不作除权处理。",
  ],
  set_aside: ["Rows set aside", "剔除的行", "已送达但没有入库的行，及其违反的规则。"],
  unexplained: [
    "Requested, and no bar came",
    "已请求但没有K线",
    "已请求、没有K线、也没有解释的交易日：下次运行会再次请求。",
  ],
  never_asked: ["Never requested", "从未请求", "从未请求的交易日，而该标的的其他交易日请求过。"],
};

export function ruleTitle(name: string): string {
  const [english, chinese] = RULES[name] ?? [name, name];
  return isChinese ? chinese : english;
}

/** The meaning of a rule. @param english the explanation that comes with the rule */
export function ruleMeaning(name: string, english: string): string {
  return isChinese ? (RULES[name]?.[2] ?? english) : english;
}
