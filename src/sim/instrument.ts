import { dateOfEpochDay, type TradingDate } from "../core/time.js";
import type { Region } from "../market/regions.js";
import { apportion, BOARDS, type Board } from "./board.js";
import { americanName, chineseName, fundName, type InventedName } from "./names.js";
import { onGrid } from "./prices/price-grid.js";
import { integer, logUniform, mix, mixText, uniform } from "./random.js";
import type { RegionCalendar } from "./trading-days.js";

/** The constant properties of an instrument of the simulated market. */
export interface SimInstrument {
  readonly symbol: string;
  readonly code: string;
  /** Exchange suffix. */
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
  /**
   * Price before the first day of its bars, in thousandths of the currency. For a new listing, it is the issue price.
   */
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
 * Creates every instrument that ever exists, ordered by region (CN, HK, US), then by symbol. About 8 % are listed and 4
 * % delisted within the history.
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
