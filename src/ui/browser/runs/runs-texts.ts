import type { ScheduleRule } from "../../../plan/due-times.js";
import { texts } from "../texts.js";

export const runsText = texts({
  runs: ["Runs", "运行"],
  pipelines: ["Pipelines", "流水线"],
  running: ["In progress", "进行中"],
  history: ["Past runs", "历史运行"],
  pipeline: ["pipeline", "流水线"],
  schedule: ["schedule", "时间表"],
  never: ["never", "从不"],
  onTrading: ["on trading days", "交易日"],
  everyDay: ["every day", "每天"],
  next: ["next (UTC)", "下次 (UTC)"],
  noSchedule: [
    "No schedule is running: npx barlake schedule runs each at its time.",
    "没有调度进程：npx barlake schedule 会按时运行。",
  ],
  ledBy: ["run by", "执行者"],
  last: ["last run", "上次运行"],
  none: ["none yet", "尚无"],
  plan: ["Plan", "计划"],
  run: ["Run …", "运行 …"],
  start: ["Run it", "开始运行"],
  cancel: ["Cancel", "取消"],
  stop: ["Stop", "停止"],
  stopping: ["stopping: what arrived is landed", "正在停止：已到达的会入库"],
  noRuns: ["No run is in progress.", "没有进行中的运行。"],
  asked: ["of", "/"],
  requests: ["requests", "请求"],
  rows: ["rows", "行"],
  quotaUsed: ["requests in the last minute", "最近一分钟的请求"],
  permitted: ["permitted", "允许"],
  nextIn: ["waits until (UTC)", "等待到 (UTC)"],
  ended: ["ended", "已结束"],
  details: ["Details", "详情"],
  started: ["began (UTC)", "开始 (UTC)"],
  by: ["by", "进程"],
  landed: ["landed so far", "已入库"],
  silent: [
    "no sign of life: its process ended, or has just sent nothing",
    "没有动静：进程已结束，或刚刚没有发送",
  ],
  lastAsked: ["last request (UTC)", "最后请求 (UTC)"],
  planning: ["planning: nothing is sent", "计划中：不发送请求"],
  planTitle: ["What it would request now", "现在会请求的内容"],
  unplannable: [
    "Its requests follow from the service's responses: only bars can be planned ahead.",
    "其请求取决于服务的响应：只有K线可以预先计划。",
  ],
  hasAll: ["The lake has it all: nothing would be requested.", "数据湖已齐全：不会请求。"],
  region: ["region", "地区"],
  symbols: ["symbols", "标的"],
  barsAtMost: ["bars at most", "K线上限"],
  minutesAt: ["minutes at", "分钟，按"],
  perMinute: ["requests a minute", "次请求/分钟"],
  unknownQuota: [
    "The key's quota is not known yet: the first run learns it, or --rpm gives it.",
    "尚不知道密钥的配额：首次运行会得知，或用 --rpm 指定。",
  ],
  costs: ["Each request counts against the quota of the key at", "每个请求都计入密钥的配额："],
  allStatuses: ["all", "全部"],
  status: ["status", "状态"],
  noneFits: ["No run fits.", "没有符合的运行。"],
  noHistory: ["No pipeline has run yet.", "还没有运行过流水线。"],
  back: ["All runs", "全部运行"],
  stopped: ["stopped", "停止原因"],
  planned: ["planned", "计划"],
  unchanged: ["unchanged", "未变"],
  service: ["service", "服务"],
  options: ["options", "选项"],
  result: ["Requests by result", "请求结果"],
  endpoint: ["endpoint", "接口"],
  attempts: ["sent in all", "共发送"],
  failures: ["Failed requests", "拒绝和失败"],
  reason: ["reason", "原因"],
  changed: ["What it changed", "改动"],
  table: ["table", "表"],
  versions: ["versions", "版本"],
  filesAdded: ["files added", "新增文件"],
  filesRemoved: ["removed", "移除"],
  bytesAdded: ["bytes added", "新增字节"],
  inserted: ["inserted", "新增"],
  updated: ["updated", "更新"],
  nothingChanged: ["It has no commit in the logs that are still there.", "现存日志里没有它的提交。"],
  windows: ["Answered windows", "已答复的区间"],
  from: ["from (UTC)", "从 (UTC)"],
  to: ["to (UTC)", "到 (UTC)"],
  absent: ["Asked for, and in no response", "已请求而响应中没有"],
  examples: ["for example", "例如"],
  rejects: ["Set aside", "剔除"],
  rule: ["rule", "规则"],
  more: ["The same in the terminal:", "在终端查看："],
  noKey: ["Runs cannot be started here:", "不能在此启动运行："],
});

/** A schedule in words, as in `17:30 CN on trading days`. */
export function scheduleWords(rules: readonly ScheduleRule[]): string {
  if (rules.length === 0) return runsText("never");
  return rules
    .map((rule) => {
      const times = "cron" in rule ? `cron ${rule.cron}` : rule.at.join(", ");
      const days =
        rule.days === "trading" ? runsText("onTrading") : "cron" in rule ? "" : runsText("everyDay");
      return [times, rule.region ?? "UTC", days].filter((part) => part !== "").join(" ");
    })
    .join("; ");
}
