import type { Language } from "../core/language.js";

/** The fixed texts of notebooks: those of pages, of the workspace's cells and of terminals. */
interface NotebookTexts {
  readonly noRows: string;
  readonly data: string;
  /** Of the statements of a cell without a result. */
  readonly preparing: string;
  readonly line: (number: number) => string;
  readonly drawn: (shown: string, all: string) => string;
  readonly first: (shown: string, all: string) => string;
  readonly rows: (count: string) => string;
  /** The days of bars that are shorter than a day. */
  readonly days: (first: string, last: string) => string;
  /** What a chart without a title is called. */
  readonly chart: (kind: string) => string;
  readonly asOf: (instant: string) => string;
  readonly known: (time: string) => string;
  readonly assumed: string;
  readonly emptyLake: string;
  readonly made: (instant: string, version: string) => string;
  /** Stands before the libraries that draw the charts, and between them. */
  readonly chartsBy: string;
  readonly and: string;
  /** The axis of a histogram. */
  readonly count: string;
  /** Labels of a bar's open, high, low, close and volume. */
  readonly bar: readonly [open: string, high: string, low: string, close: string, volume: string];
  /** Labels of a time axis. @param month from 0 */
  readonly year: (year: number) => string;
  readonly month: (year: number, month: number) => string;
  readonly day: (month: number, day: number) => string;
  /** Labels of a time axis of a plot; undefined: those that the library makes, in English. */
  readonly tick: ((at: Date, index: number, ticks: readonly Date[]) => string) | undefined;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const ENGLISH: NotebookTexts = {
  noRows: "No rows.",
  data: "data",
  preparing: "SQL that prepares what follows",
  line: (number) => `line ${number}`,
  drawn: (shown, all) => `drawn: the first ${shown} of ${all} rows`,
  first: (shown, all) => `the first ${shown} of ${all} rows`,
  rows: (count) => `${count} row${count === "1" ? "" : "s"}`,
  days: (first, last) => `${first === last ? first : `${first} to ${last}`}, times in UTC`,
  chart: (kind) => `${kind} chart`,
  asOf: (instant) => `The lake as of ${instant}.`,
  known: (time) => `What was known at ${time}.`,
  assumed: "Instruments and universes that the lake first saw later count as known before.",
  emptyLake: "The lake is empty.",
  made: (instant, version) => `made ${instant} by barlake ${version}`,
  chartsBy: "charts by",
  and: "and",
  count: "count",
  bar: ["O", "H", "L", "C", "V"],
  year: (year) => String(year),
  month: (year, month) => `${MONTHS[month]} ${year}`,
  day: (month, day) => `${day} ${MONTHS[month]}`,
  tick: undefined,
};

const CHINESE: NotebookTexts = {
  noRows: "没有数据。",
  data: "数据",
  preparing: "为后文准备数据的 SQL",
  line: (number) => `第 ${number} 行`,
  drawn: (shown, all) => `只绘制前 ${shown} 行，共 ${all} 行`,
  first: (shown, all) => `前 ${shown} 行，共 ${all} 行`,
  rows: (count) => `${count} 行`,
  days: (first, last) => `${first === last ? first : `${first} 至 ${last}`}，时间为 UTC`,
  chart: () => "图表",
  asOf: (instant) => `数据湖截至 ${instant}。`,
  known: (time) => `已知截至 ${time}。`,
  assumed: "之后才首次见到的标的和分组视为此前已知。",
  emptyLake: "数据湖是空的。",
  made: (instant, version) => `由 barlake ${version} 生成于 ${instant}`,
  chartsBy: "图表：",
  and: "、",
  count: "个数",
  bar: ["开", "高", "低", "收", "量"],
  year: (year) => `${year}年`,
  month: (year, month) => `${year}年${month + 1}月`,
  day: (month, day) => `${month + 1}月${day}日`,
  tick: chineseTick,
};

/**
 * A tick in UTC: a time, a day or a month; below it what is new since the tick before, the month of days and the year. Where
 * all ticks begin a year, only that.
 */
function chineseTick(at: Date, index: number, ticks: readonly Date[]): string {
  const text = at.toISOString();
  const [year, month, day] = text.slice(0, 10).split("-").map(Number);
  if (ticks.every((tick) => tick.toISOString().endsWith("-01-01T00:00:00.000Z"))) return `${year}年`;
  const clock = text.slice(11, 16);
  if (clock !== "00:00") return clock;
  const before = ticks[index - 1]?.toISOString() ?? "";
  const newYear = before.slice(0, 4) === text.slice(0, 4) ? "" : `${year}年`;
  const isDays = ticks.some((tick) => tick.getUTCDate() !== 1);
  const newMonth = isDays && before.slice(0, 7) !== text.slice(0, 7) ? `${month}月` : "";
  const below = newYear + newMonth;
  return `${isDays ? `${day}日` : `${month}月`}${below === "" ? "" : `\n${below}`}`;
}

export function notebookTexts(language: Language | undefined): NotebookTexts {
  return language === "zh" ? CHINESE : ENGLISH;
}
