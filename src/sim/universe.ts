import { compareText } from "../core/text-order.js";
import { dateOfEpochDay, epochDay, type TradingDate } from "../core/time.js";
import type { UniverseDetail } from "../wire/resources.js";
import type { SimInstrument } from "./instrument.js";
import { isListed, type MarketState } from "./market-state.js";
import { bell, mix } from "./random.js";

/** A universe, as a rule that returns its members on a date. */
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

/**
 * The last day, at or before a date, on which the index-like universes choose their members: 15 March, 15 June and so
 * on.
 */
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
 * An index-like universe: at each review it takes the `size` largest Chinese stocks of that day, but at most the
 * fraction `part` of all, so that it is a selection even in a small market. A delisted stock leaves at once and is not
 * replaced until the next review.
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
