import { DAY_MS } from "../../../../src/core/time.js";
import type { LandedPeriod } from "../../../../src/market/period.js";
import { integer, mixText, uniform } from "../../../../src/sim/random.js";
import type { Seen } from "../../service/scripted-server.js";
import { type Life, WRONGS, type Wrong } from "../fault-schedule.js";
import type { SymbolTime } from "../findings/symbol-time.js";
import type { TrueDay } from "./market-shape.js";
import type { TrueBar, TrueMarket } from "./true-market.js";

/** Number of requests after a wrong response that get correct responses. */
const RIGHT_BETWEEN = 9;
/** A symbol that is never requested. */
const STRANGER = "699999.SH";

/** Bars by symbol, as columns. */
export type Klines = Readonly<Record<string, object>>;
/** Bars of symbols. */
export type ReturnedBars = readonly (readonly [string, readonly TrueBar[]])[];

/** Decides which K-line responses are valid but wrong. A class because it remembers them. */
export class WrongResponses {
  readonly #random: number;
  readonly #rates: Pick<Life, "wrongRate" | "missingDayRate">;
  /** Requests that got wrong responses, and the number of the next request that may get one. */
  readonly #wronged = new Set<string>();
  #rightUntil = 0;

  constructor(random: number, rates: Pick<Life, "wrongRate" | "missingDayRate">) {
    this.#random = random;
    this.#rates = rates;
  }

  /** How a response is wrong; the next few are right. */
  kindOf({ path, query }: Seen, index: number): Exclude<Wrong, "missing day"> | undefined {
    const content = `${path}?${query.toString()}`;
    const key = mixText(this.#random, `wrong ${index}`);
    const isDue = index >= this.#rightUntil && !this.#wronged.has(content);
    if (!isDue || uniform(key, 0) >= this.#rates.wrongRate) return undefined;
    this.#wronged.add(content);
    this.#rightUntil = index + RIGHT_BETWEEN;
    return WRONGS[integer(key, 1, WRONGS.length)];
  }

  /** A day of a symbol that a response leaves out, between two days with bars. */
  missingDay(
    returned: ReturnedBars,
    days: (symbol: string) => readonly TrueDay[],
    index: number,
  ): SymbolTime | undefined {
    const key = mixText(this.#random, `missing day ${index}`);
    if (returned.length === 0 || uniform(key, 0) >= this.#rates.missingDayRate) return undefined;
    const [symbol, bars] = returned[integer(key, 1, returned.length)] as ReturnedBars[number];
    const own = days(symbol).filter(({ start, end }) =>
      bars.some(({ timestamp }) => timestamp >= start && timestamp < end),
    );
    if (own.length < 3) return undefined;
    const { start, end } = own[1 + integer(key, 2, own.length - 2)] as TrueDay;
    return { symbol, start, end };
  }
}

/** The content of a wrong response: the first symbol's bars are not the requested ones. */
export function wrongBars(
  wrong: Exclude<Wrong, "missing day">,
  seen: Seen,
  { market, now, truth }: { readonly market: TrueMarket; readonly now: number; readonly truth: Klines },
): Klines {
  const [symbol = ""] = Object.keys(truth);
  const { [symbol]: own, ...others } = truth;
  const period = seen.query.get("period") as LandedPeriod;
  const [first, last] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
  const barsOf = (of: LandedPeriod, start: number, end: number): Klines => {
    const bars = market.bars(of, symbol, { first: start, last: end, count: 500 }, now);
    // A symbol without such bars gets those of another name: it must not be left out.
    return bars.length > 0 ? inColumns([[symbol, bars]]) : { [STRANGER]: own ?? {} };
  };
  if (own === undefined) return {};
  switch (wrong) {
    case "empty map":
      return {};
    case "another symbol":
      return { [STRANGER]: own, ...others };
    case "another period":
      return { ...barsOf(period === "1d" ? "1m" : "1d", first, last), ...others };
    case "older window":
      return { ...barsOf(period, first - 60 * DAY_MS, first - 1), ...others };
  }
}

/** Bars as the service sends them; symbols without bars are left out. */
export function inColumns(returned: ReturnedBars): Klines {
  return Object.fromEntries(returned.filter(([, bars]) => bars.length > 0).map(columnsOf));
}

function columnsOf([symbol, bars]: ReturnedBars[number]): [string, object] {
  const names = Object.keys(bars[0] ?? {}) as (keyof TrueBar)[];
  const columns = names.map((name) => [name, bars.map((bar) => bar[name])] as const);
  return [symbol, Object.fromEntries(columns.filter(([, values]) => values[0] !== undefined))];
}
