import {
  DAY_MS,
  dateOfEpochDay,
  epochDay,
  MINUTE_MS,
  type TimeRange,
  type TradingDate,
} from "../../../../src/core/time.js";
import type { LandedPeriod } from "../../../../src/market/period.js";
import { REGIONS, type Region } from "../../../../src/market/regions.js";
import { closeMinute, isWeekday, openMinute, SESSION_HOURS } from "../../../../src/market/sessions.js";
import { regionOf } from "../../../../src/market/symbol.js";
import { instantOf } from "../../../../src/market/zone.js";
import { integer, mixText, uniform } from "../../../../src/sim/random.js";
import { type LateChange, lateChange } from "./market-changes.js";
import type { MarketShape, TrueDay } from "./market-shape.js";

/** A bar as the service sends it; fields that a market does not have are undefined. */
export interface TrueBar {
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly amount: number;
  readonly prev_close: number | undefined;
}

/** A version of a bar, and the time in which the service sends it; epoch milliseconds, the end exclusive. */
export interface BarVersion extends TrueBar {
  readonly version: number;
  readonly since: number;
  readonly until: number;
}

export type StatementTable = "balance_sheet" | "cash_flow";

const SYMBOLS = ["000001.SH", "600519.SH", "000001.SZ", "300750.SZ", "688981.SH", "AAPL.US", "MSFT.US"];
/** It is requested, and the service has nothing for it. */
const ABSENT = "601398.SH";
/** Its trading began in the middle of the days. */
const YOUNG = "688981.SH";
/** On a suspended day its exchange sends a row of zeros; the other suspended symbol has no row. */
const PAUSES_WITH_ROWS = "600519.SH";
const PAUSES = "300750.SZ";
/** Interval at which a forming daily bar changes, until the day has settled. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Bars of this number of days before the end are corrected. */
const CORRECTED_DAYS = 2;
const UNIVERSES = 120;
/** Later than all times of a market. */
const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * A small market that is known at every point in time: days, minutes, statements and reference data, as the service
 * sends them over time. The shape determines everything.
 */
export class TrueMarket {
  readonly symbols: readonly string[] = [...SYMBOLS, ABSENT];
  readonly shape: MarketShape;
  readonly #days: Readonly<Record<Region, readonly TrueDay[]>>;
  readonly #times = new Map<string, readonly { readonly at: number; readonly day: TrueDay }[]>();
  readonly #lateChanges = new Map<string, LateChange | undefined>();

  constructor(shape: MarketShape) {
    this.shape = shape;
    this.#days = { CN: daysOf("CN", shape), HK: [], US: daysOf("US", shape) };
  }

  /** Trading days of a region, ascending. */
  daysOf(region: Region): readonly TrueDay[] {
    return this.#days[region];
  }

  /** Date of the earliest bar in any region. */
  firstDate(period: LandedPeriod): TradingDate {
    const firsts = [this.#days.CN, this.#days.US].map((days) => days.at(this.#firstDay(period)));
    return firsts.map((day) => (day as TrueDay).date).sort()[0] as TradingDate;
  }

  /** The newest `count` bars of a window, ascending, as sent at a given time; empty for an unknown symbol. */
  bars(
    period: LandedPeriod,
    symbol: string,
    window: {
      readonly first: number;
      readonly last: number;
      readonly count: number;
      /** Bars of this time are left out. */
      readonly without?: TimeRange | undefined;
    },
    now: number,
  ): TrueBar[] {
    const { first, last, without } = window;
    const known = this.#timesOf(period, symbol).filter(({ at, day }) => {
      if (at < first || at > last || beginOf(period, at, day) > now) return false;
      const isLeftOut = without !== undefined && at >= without.start && at < without.end;
      return !isLeftOut && now < this.#goneAt(period, symbol, at, day);
    });
    return known.slice(Math.max(0, known.length - window.count)).map(({ at, day }) => {
      return this.#barAt(period, symbol, at, this.#versionOf(period, symbol, at, day, now));
    });
  }

  /** Every bar that was sent by a given time, in all its versions: the oldest first. */
  *versions(period: LandedPeriod, symbol: string, now: number): Generator<BarVersion> {
    for (const { at, day } of this.#timesOf(period, symbol)) {
      const gone = this.#goneAt(period, symbol, at, day);
      const starts = [beginOf(period, at, day), ...this.#changesOf(period, symbol, at, day)];
      for (const [version, since] of starts.entries()) {
        const until = Math.min(gone, starts[version + 1] ?? NEVER);
        if (since <= now && since < until)
          yield { ...this.#barAt(period, symbol, at, version), version, since, until };
      }
    }
  }

  /** The statements of a symbol as sent at a given time; undefined if there are none. */
  statements(table: StatementTable, symbol: string, now: number): Record<string, unknown>[] | undefined {
    if (symbol === ABSENT || symbol === "000001.SH") return undefined;
    return ["2025-03-31", "2025-06-30", "2025-09-30", "2025-12-31"].map((period_end, n) => {
      const key = this.#key("statement", table, symbol, period_end);
      const version = versionAt(this.#changes(key, 2), now);
      const total = Math.round(uniform(key, 100 + version) * 1e8) / 100;
      const announce_date = integer(key, 7, 4) === 0 ? null : `2026-0${1 + (n % 2)}-15`;
      const field = table === "balance_sheet" ? "total_assets" : "capex";
      return { period_end, announce_date, [field]: total, version };
    });
  }

  /** Ids of universes. */
  get universes(): readonly string[] {
    return Array.from({ length: UNIVERSES }, (_, n) => `U${n}`);
  }

  /** Members of a universe at a given time. */
  members(id: string, now: number): string[] {
    return SYMBOLS.filter((symbol) => {
      const key = this.#key("member", id, symbol);
      return (
        (integer(key, 1, 3) + versionAt(this.#changes(key, integer(key, 2, 6) === 0 ? 1 : 0), now)) % 3 === 0
      );
    });
  }

  /** Instruments of an exchange as the service sends them at a given time. */
  instruments(exchange: string, now: number): Record<string, unknown>[] {
    const own = this.symbols.filter((symbol) => symbol.endsWith(`.${exchange}`));
    const listed = own.filter(
      (symbol) => integer(this.#key("delisted", symbol), 1, 9) > 0 || now < this.#middle,
    );
    return listed.map((symbol) => {
      const key = this.#key("instrument", symbol);
      const region = regionOf(symbol) as Region;
      const type = symbol === "000001.SH" ? "index" : "stock";
      const name = `name ${versionAt(this.#changes(key, 1), now)}`;
      const [first] = this.#timesOf("1d", symbol);
      const listing = symbol === YOUNG && first ? { listing_date: first.day.date } : {};
      const ext = region === "CN" ? { ext: { type: "cn_equity", limit_up: 100_000, ...listing } } : {};
      return { symbol, code: symbol.split(".")[0], exchange, region, name, type, ...ext };
    });
  }

  /** Position of the first day, counted from the end. */
  #firstDay(period: LandedPeriod): number {
    return -Math.min(this.shape.days, period === "1d" ? this.shape.days : this.shape.minuteDays);
  }

  get #middle(): number {
    return this.shape.end - 2 * DAY_MS;
  }

  #key(...parts: readonly (string | number)[]): number {
    return mixText(this.shape.seed, parts.join(" "));
  }

  /** At most `most` points in time of the last days at which something changes. */
  #changes(key: number, most: number): number[] {
    return Array.from({ length: integer(key, 50, most + 1) }, (_, n) => {
      return Math.floor(this.shape.end - uniform(key, 60 + n) * 4 * DAY_MS);
    }).sort((a, b) => a - b);
  }

  #timesOf(period: LandedPeriod, symbol: string): readonly { readonly at: number; readonly day: TrueDay }[] {
    const name = `${period} ${symbol}`;
    const known = this.#times.get(name);
    if (known !== undefined) return known;
    const region = regionOf(symbol) as Region;
    const all = this.#days[region];
    const days = all.slice(this.#firstDay(period)).filter((day) => {
      if (symbol === ABSENT || (period === "1m" && region !== "CN")) return false;
      if (symbol === YOUNG) return all.indexOf(day) >= all.length - 12;
      return symbol !== PAUSES || !this.#pauses(symbol, day.start);
    });
    const times = days.flatMap((day) => {
      if (period === "1d") return [{ at: day.start, day }];
      return minutesOf(region, day).map((at) => ({ at, day }));
    });
    this.#times.set(name, times);
    return times;
  }

  #pauses(symbol: string, midnight: number): boolean {
    return integer(this.#key("pause", symbol, midnight), 0, 12) === 0;
  }

  /** How often the bar has changed by a given time. */
  #versionOf(period: LandedPeriod, symbol: string, at: number, day: TrueDay, now: number): number {
    const formed =
      period === "1m"
        ? Number(now >= at)
        : Math.min(quartersOf(day), Math.floor((now - day.open) / QUARTER_MS));
    return formed + versionAt(this.#corrections(period, symbol, at, day), now);
  }

  /** When the bar changes, ascending. */
  #changesOf(period: LandedPeriod, symbol: string, at: number, day: TrueDay): number[] {
    const quarters = Array.from({ length: quartersOf(day) }, (_, n) => day.open + (n + 1) * QUARTER_MS);
    return [...(period === "1m" ? [at] : quarters), ...this.#corrections(period, symbol, at, day)];
  }

  /** When the bar is corrected after its day has settled, ascending. */
  #corrections(period: LandedPeriod, symbol: string, at: number, day: TrueDay): number[] {
    const { end } = this.shape;
    const isRecent = day.settled <= end && day.start >= end - (CORRECTED_DAYS + 1) * DAY_MS;
    const key = this.#key("correction", period, symbol, day.date);
    const corrections =
      isRecent && integer(key, 0, 2) !== 0 ? [day.settled + uniform(key, 1) * (end - day.settled)] : [];
    const late = this.#lateChange(period, symbol, day);
    if (late?.kind === "corrected" && isIn(late, at)) corrections.push(late.at);
    return corrections.sort((a, b) => a - b);
  }

  /** The time from which on the service no longer has the bar. */
  #goneAt(period: LandedPeriod, symbol: string, at: number, day: TrueDay): number {
    const late = this.#lateChange(period, symbol, day);
    return late?.kind === "withdrawn" && isIn(late, at) ? late.at : NEVER;
  }

  #lateChange(period: LandedPeriod, symbol: string, day: TrueDay): LateChange | undefined {
    if (this.shape.changesLate !== true) return undefined;
    const name = `${period} ${symbol} ${day.date}`;
    if (!this.#lateChanges.has(name))
      this.#lateChanges.set(name, lateChange(this.shape, period, symbol, day));
    return this.#lateChanges.get(name);
  }

  #barAt(period: LandedPeriod, symbol: string, timestamp: number, version: number): TrueBar {
    const key = this.#key(period, symbol, timestamp, version);
    const isCn = regionOf(symbol) === "CN";
    const close = cents(5 + 95 * uniform(key, 1));
    const prev_close = isCn ? cents(5 + 95 * uniform(this.#key("prev", symbol, timestamp), 1)) : undefined;
    if (symbol === PAUSES_WITH_ROWS && period === "1d" && this.#pauses(symbol, timestamp))
      return { timestamp, open: 0, high: 0, low: 0, close, volume: 0, amount: 0, prev_close };
    const [low, high] = [
      cents(close * (0.9 + uniform(key, 2) / 10)),
      cents(close * (1 + uniform(key, 3) / 10)),
    ];
    const volume = 1 + integer(key, 4, 1_000_000);
    const amount = cents(volume * close * (isCn ? 100 : 1));
    return { timestamp, open: cents((low + high) / 2), high, low, close, volume, amount, prev_close };
  }
}

/** The time from which on the service sends a bar. */
function beginOf(period: LandedPeriod, at: number, day: TrueDay): number {
  return period === "1d" ? day.open : at - MINUTE_MS;
}

/** How often a day's bar changes while it forms. */
function quartersOf({ open, settled }: TrueDay): number {
  return Math.floor((settled - open) / QUARTER_MS);
}

function isIn({ range }: LateChange, at: number): boolean {
  return at >= range.start && at < range.end;
}

function cents(value: number): number {
  return Math.round(value * 100) / 100;
}

function versionAt(changes: readonly number[], now: number): number {
  return changes.filter((at) => at <= now).length;
}

/** Weekdays except a few holidays, up to the day of the end. */
function daysOf(region: Region, { seed, days, end }: MarketShape): TrueDay[] {
  const { zone } = REGIONS[region];
  const last = epochDay(dateOfEpochDay(Math.floor(end / DAY_MS)));
  const found: TrueDay[] = [];
  for (let n = last; found.length < days; n--) {
    const date = dateOfEpochDay(n);
    if (!isWeekday(date) || integer(mixText(seed, `holiday ${region}`), n, 30) === 0) continue;
    // Clocks change on Sundays: a weekday's midnight determines its other times.
    const start = instantOf(date, zone);
    const settled = start + (closeMinute(region) + 60) * MINUTE_MS;
    found.push({ date, start, end: start + DAY_MS, open: start + openMinute(region) * MINUTE_MS, settled });
  }
  return found.reverse();
}

/** The ends of a day's minutes, the opening auction's included. */
function minutesOf(region: Region, day: TrueDay): number[] {
  return SESSION_HOURS[region].parts.flatMap(([from, to], part) => {
    const first = part === 0 ? from : from + 1;
    return Array.from({ length: to - first + 1 }, (_, n) => day.start + (first + n) * MINUTE_MS);
  });
}
