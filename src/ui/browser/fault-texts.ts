import { isChinese, translated } from "./texts.js";

/** Errors of the workspace that contain a value, and their hints, as patterns, with their Chinese form. The first one counts. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^(\w+): (".*") is no (?:time|date).*$/s, "$1：$2 不是时间"],
  [/^(\w+): is no time$/s, "$1：不是时间"],
  [/^(\w+): (".*") is none of (.*)$/s, "$1：没有 $2，可用：$3"],
  [/^(\w+): a whole number is needed$/s, "$1：需要整数"],
  [/^the address has no (.*)$/s, "地址缺少 $1"],
  [/^there is no (\/.*)$/s, "没有 $1"],
  [/^run (\S+) is not known$/s, "没有运行 $1"],
  [/^there is no pipeline (".*")$/s, "没有流水线 $1"],
  [/^pipeline (.*): a run of it goes on$/s, "流水线 $1：正在运行"],
  [/^pipeline (.*): no run of it was started here$/s, "流水线 $1：不是从这里启动的运行"],
  [/^lake (.*): its tables are gone$/s, "数据湖 $1 的表不见了"],
  [/^a process for queries cannot be started: (.*)$/s, "无法启动查询进程：$1"],
  [/^the process of the query ended with (.*)$/s, "查询进程意外结束：$1"],
  [/^it took longer than (.*) s, and was stopped$/s, "运行超过 $1 秒，已停止"],
  [/^it needed more than (.*) of memory, and was stopped$/s, "内存超过 $1，已停止"],
  [/^.* too large to be shown$/s, "内容过大，无法显示"],
  [/^the result has no column (.*)$/s, "结果没有列 $1"],
  [/^there is no notebook (".*")$/s, "没有笔记 $1"],
  [/^there are (.*)$/s, "可用：$1"],
  [/^the name (".*") is empty$/s, "名称为空"],
  [/^the name (".*") leads to another folder$/s, "名称 $1 指向其他文件夹"],
  [/^the name (".*") begins with a dot$/s, "名称 $1 以点开头"],
  [/^the name (".*") ends with \.sql, which is added to it$/s, "名称 $1 以 .sql 结尾，它会自动加上"],
  [/^the name (".*") has more than (\d+) bytes$/s, "名称 $1 超过 $2 字节"],
  [/^the name (".*") has a character that no name has$/s, "名称 $1 含有不允许的字符"],
  [/^notebooks (.*): cannot be read \((.*)\)$/s, "笔记文件夹 $1：无法读取 ($2)"],
  [/^notebooks (.*): there is no such folder$/s, "笔记文件夹 $1 不存在"],
  [
    /^file (.*): is not UTF-8, and a text would not give its bytes again$/s,
    "文件 $1 不是 UTF-8，保存会改变其内容",
  ],
  [/^file (.*): is a link$/s, "文件 $1 是链接"],
  [/^file (.*): is no file$/s, "$1 不是文件"],
  [/^notebook (.*):(\d+)$/s, "笔记 $1 第 $2 行"],
  [/^(.*): column (.*) has no numbers, but (.*) values$/s, "$1：列 $2 不是数值"],
  [/^(.*): column (.*) has no dates or times$/s, "$1：列 $2 不是日期或时间"],
  [/^(.*): column (.*) has a value twice, or none$/s, "$1：列 $2 有重复值或空值"],
  [/^(.*): the result has no column (.*)$/s, "$1：结果没有列 $2"],
  [/^it has (.*)$/s, "现有 $1"],
  [/^"(.*)" is no directive$/s, '没有指令 "$1"'],
  [/^(.*): "(.*)" is no option$/s, '$1：没有选项 "$2"'],
  [/^(.*): "(.*)" is no kind$/s, '$1：没有类型 "$2"'],
  [/^(.*): the kind is missing$/s, "$1：缺少类型"],
  [/^(.*): (\w+) is missing$/s, "$1：缺少 $2"],
  [/^(.*): (\w+) is given twice$/s, "$1：$2 重复"],
  [/^allowed: (.*)$/s, "可用：$1"],
  [/^(.*): it is below (.*), the least$/s, "$1：低于最小值 $2"],
  [/^(.*): it is above (.*), the greatest$/s, "$1：高于最大值 $2"],
];

/** An error or its hint in the language of the browser; those of other programs, such as DuckDB, remain. */
export function faultText(english: string): string {
  const [, where, error] = (isChinese && /^(notebook .*?:\d+): (.*)$/s.exec(english)) || [];
  if (where !== undefined && error !== undefined) return `${faultText(where)}：${faultText(error)}`;
  const [pattern, chinese] = (isChinese && FAULTS.find(([one]) => one.test(english))) || [];
  return pattern === undefined ? translated(english) : english.replace(pattern, chinese ?? english);
}
