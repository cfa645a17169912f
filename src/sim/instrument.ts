import { UsageError } from "../core/errors.js";
import { dateOfEpochDay, type TradingDate } from "../core/time.js";
import type { Region } from "../market/regions.js";
import { integer, logUniform, mix, mixText, uniform } from "./random.js";
import type { RegionCalendar } from "./trading-days.js";

interface InventedName {
  readonly name: string;
  readonly nameEn: string;
}

const FIRST = table(
  "嵘Rong 泓Hong 旭Xu 垚Yao 骏Jun 翊Yi 瀚Han 珩Heng 澜Lan 锦Jin 鸿Hong 岳Yue 霖Lin 朔Shuo 璟Jing 昀Yun 启Qi 卓Zhuo 晟Sheng 颐Yi 澄Cheng 衡Heng 竣Jun 溪Xi 峻Jun 禾He 榕Rong 沐Mu 砺Li 曜Yao 恺Kai 湛Zhan 祺Qi 煦Xu 韬Tao 铭Ming 渊Yuan 柏Bai 皓Hao 宸Chen",
);
const SECOND = table(
  "远yuan 川chuan 丰feng 和he 盛sheng 桥qiao 原yuan 林lin 森sen 海hai 峰feng 泽ze 田tian 洲zhou 域yu 石shi 辰chen 阳yang 达da 驰chi 润run 嘉jia 通tong 诚cheng 瑞rui 越yue 帆fan 昌chang 成cheng 明ming 联lian 创chuang 信xin 拓tuo 安an 源yuan 河he 立li 邦bang 景jing",
);
const TRADE = table(
  "科技Technology 股份Holdings 医药Pharma 电子Electronics 能源Energy 材料Materials 化工Chemical 机械Machinery 食品Foods 物流Logistics 环保Environment 软件Software 光电Optoelectronics 精工Precision 新材Advanced-Materials 生物Biotech 电气Electric 汽配Auto-Parts 纺织Textile 建设Construction 传媒Media 矿业Mining 农业Agriculture 水务Water 航空Aviation 智能Intelligence 数据Data 钢铁Steel 银行Bank 证券Securities 保险Insurance 地产Properties 百货Retail 港口Ports 重工Heavy-Industry 家居Home 造纸Paper 玻璃Glass 酒业Spirits 乳业Dairy",
);
const FUND_HOUSES = table(
  "衡远Hengyuan 澜石Lanshi 启林Qilin 朔方Shuofang 瀚川Hanchuan 柏景Baijing 沐禾Muhe 岳成Yuecheng 晟原Shengyuan 霖泽Linze 骏帆Junfan 砺信Lixin",
);
const FUND_THEMES = table(
  "半导体Semiconductor 新能源New-Energy 医疗Healthcare 消费Consumer 银行Bank 证券Brokers 军工Defense 有色Metals 煤炭Coal 农业Agriculture 红利Dividend 价值Value 成长Growth 质量Quality 低波Low-Volatility 中盘Mid-Cap 小盘Small-Cap 大盘Large-Cap 创新Innovation 央企State-Owned 港股通Southbound 科技Technology 软件Software 通信Telecom 家电Appliances 建材Building 电力Power 环保Environment 黄金Gold 国债Treasury",
);
const US_STEMS =
  "Alder Brant Calder Dorn Ember Farrow Garnet Halden Ister Jarrow Kestrel Lorimer Marlow Norwick Orrin Pellam Quarry Rowan Selby Thorn Ulster Varley Wexham Yarrow Zephyr Corvin Drayle Elmsworth Fenwick Grantham".split(
    " ",
  );
const US_ENDS = "wick field gate ridge stone well mark ford haven crest bridge point lane moor ley".split(
  " ",
);
const US_TRADES =
  "Systems Therapeutics Energy Software Industries Semiconductor Bancorp Networks Foods Materials Logistics Robotics Realty Devices Holdings Media Outfitters Insurance Airlines Utilities".split(
    " ",
  );

/** A prime: names of consecutive numbers differ in every part. */
const STRIDE = 7919;

/** Stock name number `index`. There are 64,000 different names of four characters; after that they repeat. */
function chineseName(index: number): InventedName {
  const [first, firstEn] = pick(FIRST, index * STRIDE);
  const [second, secondEn] = pick(SECOND, (index * STRIDE) / FIRST.length);
  const [trade, tradeEn] = pick(TRADE, (index * STRIDE) / (FIRST.length * SECOND.length));
  return { name: first + second + trade, nameEn: `${firstEn}${secondEn} ${tradeEn}` };
}

/** ETF name number `index`. From the 361st on, names contain a number. */
function fundName(index: number): InventedName {
  const [house, houseEn] = pick(FUND_HOUSES, index);
  const [theme, themeEn] = pick(FUND_THEMES, index / FUND_HOUSES.length);
  const round = Math.floor(index / (FUND_HOUSES.length * FUND_THEMES.length)) + 1;
  const number = round > 1 ? String(round) : "";
  return {
    name: `${house}${theme}ETF${number}`,
    nameEn: `${houseEn} ${themeEn} ETF${number && ` ${number}`}`,
  };
}

/** American company name number `index`. There are 9,000 different names. */
function americanName(index: number): InventedName {
  const step = index * STRIDE;
  const stem = US_STEMS[step % US_STEMS.length] as string;
  const end = US_ENDS[Math.floor(step / US_STEMS.length) % US_ENDS.length] as string;
  const trade = US_TRADES[Math.floor(step / (US_STEMS.length * US_ENDS.length)) % US_TRADES.length] as string;
  const name = `${stem}${end} ${trade} Inc.`;
  return { name, nameEn: name };
}

function table(text: string): readonly (readonly [string, string])[] {
  return text.split(" ").map((word): readonly [string, string] => {
    const split = word.search(/[A-Za-z]/);
    return [word.slice(0, split), word.slice(split).replaceAll("-", " ")];
  });
}

function pick(words: readonly (readonly [string, string])[], step: number): readonly [string, string] {
  return words[Math.floor(step) % words.length] as readonly [string, string];
}

export type BoardId = "SH_MAIN" | "SZ_MAIN" | "SZ_GROWTH" | "BJ" | "SH_ETF" | "HK_MAIN" | "US_LISTED";

/** The instruments of one listing segment: rules of the exchange, and parameters of the simulation. */
export interface Board {
  readonly id: BoardId;
  readonly exchange: string;
  readonly region: Region;
  readonly type: "stock" | "etf";
  /** Fraction of all simulated instruments. The fractions of all boards add up to 1. */
  readonly share: number;
  /** Prefixes of the codes, which are used in this order; empty where codes consist of letters. */
  readonly codePrefixes: readonly string[];
  /** Number of prefixes that are used even if fewer were sufficient. */
  readonly minPrefixes: number;
  /** Number of digits of a code after its prefix. */
  readonly codeDigits: number;
  /** Daily price limit around prev_close, in percent; undefined where the exchange has no limit. */
  readonly limitPercent: number | undefined;
  /** Smallest price step in thousandths of the currency; 0 where it depends on the price, see the HK spread table. */
  readonly tickMilli: number;
  /** Lowest price in the simulation, in thousandths of the currency. */
  readonly floorMilli: number;
  /** Range of prices at the start of the history, in currency. */
  readonly price: readonly [number, number];
  /** Range of the amount traded on an ordinary day, in currency. */
  readonly turnover: readonly [number, number];
  /** Probability that a suspension begins on a day. */
  readonly suspensions: number;
  /** Number of dividends per year of instruments that pay dividends. */
  readonly payouts: number;
  /** Fraction of the instruments that pay dividends. */
  readonly payers: number;
  /** Range of a dividend, as a fraction of the price. */
  readonly dividend: readonly [number, number];
  /** Probability that a payout comes with a split. */
  readonly splits: number;
  /** Possible numbers of shares that one share becomes in a split. */
  readonly splitRatios: readonly number[];
  /** Price in currency below which ten shares may become one on an ex-date; 0 where they never do. */
  readonly consolidatesBelow: number;
}

const CN_STOCK = {
  region: "CN",
  type: "stock",
  codeDigits: 3,
  minPrefixes: 1,
  tickMilli: 10,
  floorMilli: 1000,
  price: [4, 90],
  turnover: [8e6, 3e9],
  suspensions: 0.0012,
  payouts: 1,
  payers: 0.75,
  dividend: [0.006, 0.05],
  splits: 0.16,
  splitRatios: [1.2, 1.3, 1.4, 1.5, 2],
  consolidatesBelow: 0,
} as const;

/** Limits: 10 % on the main boards, 20 % on the growth board (300xxx), 30 % in Beijing. */
export const BOARDS: readonly Board[] = [
  {
    ...CN_STOCK,
    id: "SH_MAIN",
    exchange: "SH",
    share: 0.27,
    codePrefixes: ["600", "601", "603", "605"],
    limitPercent: 10,
  },
  {
    ...CN_STOCK,
    id: "SZ_MAIN",
    exchange: "SZ",
    share: 0.16,
    codePrefixes: ["000", "002", "001", "003"],
    limitPercent: 10,
  },
  {
    ...CN_STOCK,
    id: "SZ_GROWTH",
    exchange: "SZ",
    share: 0.12,
    codePrefixes: ["300", "301"],
    limitPercent: 20,
  },
  {
    ...CN_STOCK,
    id: "BJ",
    exchange: "BJ",
    share: 0.06,
    codePrefixes: ["430", "831", "832", "833", "834", "835", "836", "837", "838", "839"],
    minPrefixes: 2,
    limitPercent: 30,
    turnover: [1e5, 8e7],
  },
  {
    ...CN_STOCK,
    id: "SH_ETF",
    exchange: "SH",
    type: "etf",
    share: 0.09,
    codePrefixes: ["510", "512", "515", "516", "588"],
    limitPercent: 10,
    tickMilli: 1,
    floorMilli: 200,
    price: [0.5, 6],
    turnover: [2e6, 2e9],
    suspensions: 0.0001,
    payers: 0.3,
    splits: 0.1,
    splitRatios: [2],
  },
  {
    id: "HK_MAIN",
    exchange: "HK",
    region: "HK",
    type: "stock",
    share: 0.15,
    codePrefixes: ["0"],
    minPrefixes: 1,
    codeDigits: 4,
    limitPercent: undefined,
    tickMilli: 0,
    floorMilli: 500,
    price: [1, 400],
    turnover: [5e5, 4e9],
    suspensions: 0.0003,
    payouts: 2,
    payers: 0.7,
    dividend: [0.008, 0.03],
    splits: 0.03,
    splitRatios: [2, 4, 5],
    consolidatesBelow: 2,
  },
  {
    id: "US_LISTED",
    exchange: "US",
    region: "US",
    type: "stock",
    share: 0.15,
    codePrefixes: [],
    minPrefixes: 0,
    codeDigits: 0,
    limitPercent: undefined,
    tickMilli: 10,
    floorMilli: 1000,
    price: [8, 600],
    turnover: [1e6, 9e9],
    suspensions: 0,
    payouts: 4,
    payers: 0.6,
    dividend: [0.002, 0.009],
    splits: 0.02,
    splitRatios: [2, 3, 4, 10],
    consolidatesBelow: 8,
  },
];

/**
 * The number of instruments of each board, by largest remainder. @throws {UsageError} where a board has fewer codes.
 */
function apportion(symbols: number): Map<Board, number> {
  const counts = new Map(BOARDS.map((board) => [board, Math.floor(board.share * symbols)]));
  const rest = symbols - [...counts.values()].reduce((sum, n) => sum + n, 0);
  const byRemainder = [...BOARDS].sort((a, b) => ((b.share * symbols) % 1) - ((a.share * symbols) % 1));
  for (const board of byRemainder.slice(0, rest)) counts.set(board, (counts.get(board) ?? 0) + 1);
  for (const [board, count] of counts) {
    const codes = board.codePrefixes.length * 10 ** board.codeDigits - 1;
    if (board.codePrefixes.length > 0 && count > codes) {
      throw new UsageError(
        `symbols ${symbols} would need ${count} codes of board ${board.id}, which has ${codes}`,
      );
    }
  }
  return counts;
}

/** HKEX spread table, part A: for prices below `below`, the smallest price step; both in thousandths of HKD. */
const HK_SPREADS: readonly (readonly [below: number, tick: number])[] = [
  [250, 1],
  [500, 5],
  [10_000, 10],
  [20_000, 20],
  [100_000, 50],
  [200_000, 100],
  [500_000, 200],
  [1_000_000, 500],
  [2_000_000, 1000],
  [5_000_000, 2000],
  [Number.POSITIVE_INFINITY, 5000],
];

/** The range in which a day's prices may be if the exchange sets no limit, as factors of the previous close. */
const FREE_RANGE = { CN: [0.6, 2], HK: [0.72, 1.38], US: [0.6, 1.6] } as const;

/** The smallest step at a price on the HK exchange; both in thousandths of HKD. */
export function hkTick(milli: number): number {
  return (HK_SPREADS.find(([below]) => milli < below) as readonly [number, number])[1];
}

/**
 * The step of all prices of a day, in thousandths of the currency, from its previous close. In Hong Kong, where it
 * depends on the price, the least common multiple of the steps between 0.7 and 1.4 times the previous close: the day
 * reaches no others.
 */
export function dayTick(board: Board, referenceMilli: number): number {
  if (board.tickMilli > 0) return board.tickMilli;
  const low = hkTick(referenceMilli * 0.7);
  const high = hkTick(referenceMilli * 1.4);
  return (low * high) / greatestDivisor(low, high);
}

/** Rounds a price to the step that applies at that price; both in thousandths of the currency. */
export function onGrid(board: Board, milli: number): number {
  const tick = dayTick(board, milli);
  return Math.max(tick, Math.round(milli / tick) * tick);
}

/**
 * Highest price of a day, in steps of `tick`: prev_close plus the limit, rounded half up to a step, as the Chinese
 * exchanges do. Without a limit (`free`), and outside China, the bound of the simulation.
 */
export function highestTicks(board: Board, referenceMilli: number, tick: number, free: boolean): number {
  if (board.limitPercent === undefined || free) {
    return Math.floor((referenceMilli * FREE_RANGE[board.region][1]) / tick);
  }
  return Math.floor(((referenceMilli / tick) * (100 + board.limitPercent) + 50) / 100);
}

/** Lowest price of a day, in steps of `tick`; the counterpart of {@link highestTicks}. */
export function lowestTicks(board: Board, referenceMilli: number, tick: number, free: boolean): number {
  if (board.limitPercent === undefined || free) {
    return Math.ceil((referenceMilli * FREE_RANGE[board.region][0]) / tick);
  }
  return Math.floor(((referenceMilli / tick) * (100 - board.limitPercent) + 50) / 100);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

export interface SimInstrument {
  readonly symbol: string;
  readonly code: string;
  readonly exchange: string;
  readonly region: Region;
  readonly type: "stock" | "etf";
  readonly name: string;
  readonly nameEn: string;
  readonly board: Board;
  /** First trading date; may be before the history. */
  readonly listed: TradingDate;
  /** First trading date after the delisting; undefined where it is not delisted. */
  readonly delisted: TradingDate | undefined;
  /** Day indexes of its bars in the calendar of the region: `start` inclusive, `end` exclusive. */
  readonly start: number;
  readonly end: number;
  /** Shares in one lot: 100 in CN, 1 in the US, the instrument's board lot in HK (a multiple of 100). */
  readonly boardLot: number;
  /** Price before the first day of its bars, in thousandths of the currency; of a new listing the issue price. */
  readonly basePriceMilli: number;
  /** Amount traded on an ordinary day, in currency. */
  readonly turnover: number;
  /** Number of shares issued on the first day of its bars. */
  readonly totalShares: number;
  /** Fraction of the shares that is freely traded. */
  readonly freeFloat: number;
  /** Seed of all random values of the instrument. */
  readonly key: number;
}

const HK_LOTS = [100, 200, 500, 1000, 2000];

/**
 * Every instrument that ever exists, ordered by region (CN, HK, US), then by symbol. About 8 % are listed and 4 %
 * delisted within the history.
 */
export function makeInstruments(
  seed: number,
  symbols: number,
  calendars: Readonly<Record<Region, RegionCalendar>>,
): SimInstrument[] {
  const instruments: SimInstrument[] = [];
  const counts = apportion(symbols);
  for (const [number, board] of BOARDS.entries()) {
    const count = counts.get(board) ?? 0;
    const key = mixText(seed, board.id);
    const codes = board.codePrefixes.length > 0 ? numberCodes(board, key, count) : tickers(key, count);
    for (const [index, code] of codes.entries()) {
      instruments.push(
        makeInstrument(seed, board, code, nameOf(board, number, index), calendars[board.region]),
      );
    }
  }
  return instruments.sort((a, b) => compare(a.region, b.region) || compare(a.symbol, b.symbol));
}

function makeInstrument(
  seed: number,
  board: Board,
  code: string,
  name: InventedName,
  calendar: RegionCalendar,
): SimInstrument {
  const symbol = `${code}.${board.exchange}`;
  const key = mixText(mix(seed, 1), symbol);
  const days = calendar.dates.length;
  const start = uniform(key, 0) < 0.08 ? integer(key, 1, Math.floor(days * 0.9)) : 0;
  const gone = start + 30 + integer(key, 2, days);
  const delisted = uniform(key, 3) < 0.09 && gone < days ? calendar.dates[gone] : undefined;
  const price = onGrid(board, logUniform(key, 4, board.price) * 1000);
  const turnover = logUniform(key, 5, board.turnover);
  const early = dateOfEpochDay((calendar.epochDays[0] as number) - 30 - integer(key, 6, 7000));
  return {
    symbol,
    code,
    exchange: board.exchange,
    region: board.region,
    type: board.type,
    name: name.name,
    nameEn: name.nameEn,
    board,
    listed: start > 0 ? (calendar.dates[start] as TradingDate) : early,
    delisted,
    start,
    end: delisted === undefined ? days : gone,
    boardLot: boardLotOf(board, key),
    basePriceMilli: price,
    turnover,
    totalShares: Math.round((turnover * logUniform(key, 7, [60, 240]) * 1000) / price / 1e4) * 1e4 + 1e6,
    freeFloat: 0.4 + Math.round(uniform(key, 8) * 60) / 100,
    key,
  };
}

function boardLotOf(board: Board, key: number): number {
  if (board.region === "HK") return HK_LOTS[integer(key, 9, HK_LOTS.length)] as number;
  return board.region === "CN" ? 100 : 1;
}

function nameOf(board: Board, boardNumber: number, index: number): InventedName {
  if (board.type === "etf") return fundName(index);
  if (board.region === "US") return americanName(index);
  return chineseName(index * 8 + boardNumber);
}

/** Ascending codes, one from each of `count` equal parts of the range of numbers in use. The number 0 is not used. */
function numberCodes(board: Board, key: number, count: number): string[] {
  const perPrefix = 10 ** board.codeDigits;
  const prefixes = Math.min(
    board.codePrefixes.length,
    Math.max(board.minPrefixes, Math.ceil((count * 2) / perPrefix)),
  );
  const slice = (prefixes * perPrefix - 1) / count;
  return Array.from({ length: count }, (_, i) => {
    const from = 1 + Math.floor(i * slice);
    const number = from + integer(key, i, 1 + Math.floor((i + 1) * slice) - from);
    const prefix = board.codePrefixes[Math.floor(number / perPrefix)] as string;
    return prefix + String(number % perPrefix).padStart(board.codeDigits, "0");
  });
}

/** Distinct tickers of one to four letters. Short ones are rare. */
function tickers(key: number, count: number): string[] {
  const codes = new Set<string>();
  for (let n = 0; codes.size < count; n++) {
    const draw = mix(key, n) >>> 0;
    const length = draw % 64 === 0 ? 1 : draw % 8 === 0 ? 2 : draw % 2 === 0 ? 3 : 4;
    let code = "";
    for (let i = 0; i < length; i++) code += String.fromCharCode(65 + integer(mix(key, n), i + 1, 26));
    codes.add(code);
  }
  return [...codes];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
