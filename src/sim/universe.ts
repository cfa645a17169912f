import { compareText } from "../core/text-order.js";
import { dateOfEpochDay, epochDay, type TradingDate } from "../core/time.js";
import type { ExchangeSummary, Instrument, UniverseDetail } from "../wire/resources.js";
import { BOARDS, dayTick, highestTicks, lowestTicks, type SimInstrument } from "./instrument.js";
import { isListed, type MarketState } from "./market-state.js";
import { bell, mix } from "./random.js";
import { dayIndexAtOrAfter } from "./trading-days.js";

interface UniverseRule {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  readonly region: string;
  readonly description: string;
  members(state: MarketState, date: TradingDate): readonly SimInstrument[];
}

const UNIVERSES: readonly UniverseRule[] = [
  all("CN_Equity_A", "沪深京A股", "equity", "CN", "stock"),
  all("CN_ETF", "沪深ETF", "etf", "CN", "etf"),
  all("HK_Equity", "港股", "equity", "HK", "stock"),
  all("US_Equity", "美股", "equity", "US", "stock"),
  index("SIM_CN_50", 50, 1 / 3),
  index("SIM_CN_300", 300, 2 / 3),
];

/** Every universe on a date, with its symbols ascending. All members are listed on that date. */
export function listUniverses(state: MarketState, date: TradingDate): UniverseDetail[] {
  return UNIVERSES.map(({ id, name, category, region, description, ...rule }) => {
    const symbols = rule.members(state, date).map((instrument) => instrument.symbol);
    return { id, name, category, region, symbol_count: symbols.length, description, symbols: symbols.sort() };
  });
}

/** The last day on which the index-like universes choose their members: 15 March, 15 June and so on. */
export function lastReview(date: TradingDate): TradingDate {
  const day = epochDay(date);
  for (let back = 0; ; back++) {
    const candidate = dateOfEpochDay(day - back);
    if (/-(03|06|09|12)-15$/.test(candidate)) return candidate;
  }
}

function all(
  id: string,
  name: string,
  category: string,
  region: string,
  type: "stock" | "etf",
): UniverseRule {
  const description = `All listed ${type === "etf" ? "funds" : "stocks"} of the simulated ${region} market`;
  return {
    id,
    name,
    category,
    region,
    description,
    members: (state, date) =>
      state.instruments.filter((i) => i.region === region && i.type === type && isListed(i, date)),
  };
}

/**
 * At each review the `size` largest Chinese stocks of that day, at most the fraction `part` of all, so that it is a
 * selection even in a small market. A delisted stock leaves at once and is not replaced until the next review.
 */
function index(id: string, size: number, part: number): UniverseRule {
  return {
    id,
    name: `模拟${size}`,
    category: "index",
    region: "CN",
    description: `The ${size} largest stocks of the simulated CN market, chosen every quarter`,
    members: (state, date) => {
      const review = lastReview(date);
      const stocks = state.instruments.filter(
        (i) => i.region === "CN" && i.type === "stock" && isListed(i, review),
      );
      const ranked = stocks
        .map((stock) => ({ stock, size: sizeAt(stock, review) }))
        .sort((a, b) => b.size - a.size || compareText(a.stock.symbol, b.stock.symbol));
      const count = Math.min(size, Math.ceil(stocks.length * part));
      return ranked.slice(0, count).flatMap(({ stock }) => (isListed(stock, date) ? stock : []));
    },
  };
}

function sizeAt(instrument: SimInstrument, review: TradingDate): number {
  return Math.log(instrument.turnover) + 0.25 * bell(mix(instrument.key, epochDay(review)), 50);
}

/** The value of limit_up that means "no limit" in the first days after a listing. */
export const NO_LIMIT_UP = 100_000;

/** Number of days before a delisting in which the name of a Chinese stock has the prefix of the delisting period. */
const LEAVING_DAYS = 15;

/** The listed instruments on a date, as the service would describe them then; in the order of the market. */
export function listInstruments(state: MarketState, date: TradingDate): Instrument[] {
  return state.instruments.filter((i) => isListed(i, date)).map((i) => describe(state, i, date));
}

/** The exchanges on a date, with the number of instruments listed then. Exchanges without instruments are left out. */
export function listExchanges(state: MarketState, date: TradingDate): ExchangeSummary[] {
  const counts = new Map<string, number>();
  for (const { exchange } of state.instruments.filter((i) => isListed(i, date))) {
    counts.set(exchange, (counts.get(exchange) ?? 0) + 1);
  }
  return [...counts].map(([exchange, count]) => ({ exchange, region: regionOfBoard(exchange), count }));
}

function describe(state: MarketState, instrument: SimInstrument, date: TradingDate): Instrument {
  const { symbol, code, exchange, region, type } = instrument;
  const dayIndex = lastDayIndex(state, instrument, date);
  return {
    symbol,
    code,
    exchange,
    region,
    name: nameOn(instrument, dayIndex),
    type,
    ext: { ...sharesOn(state, instrument, dayIndex), ...extOf(state, instrument, dayIndex) },
  };
}

function extOf(
  state: MarketState,
  instrument: SimInstrument,
  dayIndex: number,
): NonNullable<Instrument["ext"]> {
  const { board, boardLot, listed, nameEn } = instrument;
  if (board.region === "US") return { type: "us_equity" };
  if (board.region === "HK") return { type: "hk_equity", lot_size: boardLot };
  const path = state.pathOf(instrument);
  const at = dayIndex - instrument.start;
  const prev = path.reference[at] ?? instrument.basePriceMilli;
  const tick = dayTick(board, prev);
  const free = at < path.freeDays;
  return {
    type: "cn_equity",
    limit_up: free ? NO_LIMIT_UP : (highestTicks(board, prev, tick, false) * tick) / 1000,
    limit_down: free ? 0 : (lowestTicks(board, prev, tick, false) * tick) / 1000,
    tick_size: tick / 1000,
    listing_date: listed,
    name_en: nameEn,
  };
}

/** The number of shares of an instrument on a date. Splits multiply it. */
export function sharesOf(
  state: MarketState,
  instrument: SimInstrument,
  date: TradingDate,
): { readonly total_shares: number; readonly float_shares: number } {
  return sharesOn(state, instrument, lastDayIndex(state, instrument, date));
}

function sharesOn(state: MarketState, instrument: SimInstrument, dayIndex: number) {
  let total = instrument.totalShares;
  for (const event of state.pathOf(instrument).events) {
    if (event.dayIndex <= dayIndex) total = Math.round(total * event.splitRatio);
  }
  return { total_shares: total, float_shares: Math.round(total * instrument.freeFloat) };
}

function nameOn({ name, delisted, region, type, end }: SimInstrument, dayIndex: number): string {
  const leaving = delisted !== undefined && end - dayIndex <= LEAVING_DAYS;
  return leaving && region === "CN" && type === "stock" ? `退市${name.slice(0, 2)}` : name;
}

/** The index of the last day of the instrument up to a date; of its first day for an earlier date. */
function lastDayIndex(state: MarketState, instrument: SimInstrument, date: TradingDate): number {
  const last = dayIndexAtOrAfter(state.calendars[instrument.region], epochDay(date) + 1) - 1;
  return Math.max(instrument.start, Math.min(instrument.end - 1, last));
}

function regionOfBoard(exchange: string): string {
  return BOARDS.find((board) => board.exchange === exchange)?.region ?? "";
}
