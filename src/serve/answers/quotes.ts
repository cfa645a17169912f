import { closeMinute, finalEnd } from "../../calendar/sessions.js";
import { instantOf, localDate } from "../../calendar/zone.js";
import { REGIONS, type Region } from "../../core/exchange.js";
import { regionOf } from "../../core/symbol.js";
import type { TimeRange, TradingDate } from "../../core/time.js";
import { BARS_1M } from "../../schema/bars.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument } from "../../wire/resources.js";
import { type LastBar, lastBars } from "../klines/last-bars.js";
import { latestDays } from "../klines/latest-days.js";
import { readKlines } from "../klines/read-klines.js";
import { MINUTES_OF_A_DAY, seriesOf } from "../klines/series.js";
import { ALL_TIME } from "../klines/wanted-bars.js";
import type { LakeView } from "../lake-reader.js";
import { EXT_TYPE } from "../reference-data.js";
import type { AnswerFunction } from "./answer.js";

/** `POST /v1/quotes`: from each symbol's newest bars; a symbol without any is left out. */
export const answerQuotes: AnswerFunction = (view, { body, now }) =>
  quotes(view, parseParameters(PARAMETERS.quotes, body), now);

/** `GET /v1/quotes` */
export const answerQuotesOf: AnswerFunction = (view, { query, now }) =>
  quotes(view, parseParameters(PARAMETERS.quotesOf, query), now);

async function quotes(
  view: LakeView,
  asked: {
    readonly symbols?: readonly string[] | undefined;
    readonly universes?: readonly string[] | undefined;
  },
  now: number,
): Promise<object> {
  const scope = await view.scope();
  scope.checkSymbols(asked.symbols ?? []);
  scope.checkUniverses(asked.universes ?? []);
  const { instruments, members } = await view.reference();
  const listed = (asked.universes ?? []).flatMap((id) => members.get(id) ?? []);
  const symbols = [...new Set([...(asked.symbols ?? []), ...listed])];
  const daily = await lastDailyBars(view, symbols);
  const minutes = await lastMinuteDays(view, symbols, daily);
  const dates = new Dates(now);
  const data = symbols.flatMap((symbol) => {
    const facts = quoteFacts(symbol, daily.get(symbol) ?? [], minutes.get(symbol), now, dates);
    return facts === undefined ? [] : [quoteOf(symbol, facts, instruments.get(symbol))];
  });
  return { data };
}

/** The newest two daily bars of each symbol, newest last. */
async function lastDailyBars(view: LakeView, symbols: readonly string[]): Promise<Map<string, LastBar[]>> {
  return lastBars(
    await readKlines(view, {
      symbols,
      series: seriesOf("1d"),
      adjustment: "none",
      count: 2,
      rangeOf: () => ALL_TIME,
      isKnown: () => true,
    }),
  );
}

/** The minutes of the latest day as one bar, for the symbols whose newest daily bar is not of a later day. */
async function lastMinuteDays(
  view: LakeView,
  symbols: readonly string[],
  daily: ReadonlyMap<string, readonly LastBar[]>,
): Promise<Map<string, LastBar>> {
  const days = await latestDays(view.version, await view.version.snapshot(BARS_1M));
  const rangeOf = (region: Region): TimeRange => days.get(region) ?? { start: 0, end: 0 };
  const wanted = symbols.filter((symbol) => {
    const region = regionOf(symbol);
    if (region === undefined) return false;
    const newest = daily.get(symbol)?.at(-1);
    return newest === undefined || newest.timestamp < rangeOf(region).end;
  });
  const runs = await readKlines(view, {
    symbols: wanted,
    series: MINUTES_OF_A_DAY,
    adjustment: "none",
    count: 1,
    rangeOf,
    isKnown: () => true,
  });
  const bars = lastBars(runs);
  return new Map([...bars].map(([symbol, list]) => [symbol, list.at(-1) as LastBar]));
}

/** Values by a key, each made once. */
function once<T>(values: Map<string, T>, key: string, make: () => T): T {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

/** Dates and closes of an answer's bars. A calendar is slow, and a universe's bars are of a few instants. */
class Dates {
  readonly #now: number;
  readonly #dates = new Map<string, TradingDate>();
  readonly #instants = new Map<string, number>();

  constructor(now: number) {
    this.#now = now;
  }

  /** The trading date of a bar. */
  of(timestamp: number, region: Region): TradingDate {
    return once(this.#dates, `${region} ${timestamp}`, () => localDate(timestamp, REGIONS[region].zone));
  }

  /** When a region's last session of a day ends. */
  closeOf(date: TradingDate, region: Region): number {
    return once(this.#instants, `${region} ${date}`, () =>
      instantOf(date, REGIONS[region].zone, closeMinute(region)),
    );
  }

  /** Where a region's days begin that are not final yet. */
  finalEnd(region: Region): number {
    return once(this.#instants, region, () => finalEnd(region, this.#now));
  }
}

interface QuoteFacts {
  readonly bar: LastBar;
  readonly timestamp: number;
  readonly prevClose: number | null;
}

/** The day's daily bar once the day is final, else its minutes; timed with the last minute, or the day's close. */
function quoteFacts(
  symbol: string,
  daily: readonly LastBar[],
  minutes: LastBar | undefined,
  now: number,
  dates: Dates,
): QuoteFacts | undefined {
  const region = regionOf(symbol);
  if (region === undefined) return undefined;
  const newest = daily.at(-1);
  const dayOf = (bar: LastBar): TradingDate => dates.of(bar.timestamp, region);
  const sameDay = newest !== undefined && minutes !== undefined && dayOf(newest) === dayOf(minutes);
  if (minutes !== undefined && !(sameDay && newest.timestamp < dates.finalEnd(region))) {
    const before = sameDay ? daily.at(-2) : newest;
    const prevClose = minutes.prevClose ?? (sameDay ? newest.prevClose : null) ?? before?.close ?? null;
    return { bar: minutes, timestamp: minutes.timestamp, prevClose };
  }
  if (newest === undefined) return undefined;
  const closesAt = dates.closeOf(dayOf(newest), region);
  const timestamp = sameDay ? minutes.timestamp : Math.min(closesAt, Math.max(now, newest.timestamp));
  return { bar: newest, timestamp, prevClose: newest.prevClose ?? daily.at(-2)?.close ?? null };
}

function quoteOf(
  symbol: string,
  { bar, timestamp, prevClose }: QuoteFacts,
  instrument: Instrument | undefined,
): object {
  const region = regionOf(symbol) as Region;
  const floatShares = instrument?.ext?.float_shares;
  const ratio = (part: number, whole: unknown): number | null =>
    typeof whole === "number" && whole > 0 ? part / whole : null;
  return {
    symbol,
    last_price: bar.close,
    open: bar.open,
    high: bar.high,
    low: bar.low,
    prev_close: prevClose,
    volume: bar.volume,
    amount: bar.amount,
    timestamp,
    ext: {
      type: EXT_TYPE[region],
      change_amount: prevClose === null ? null : bar.close - prevClose,
      change_pct: ratio(bar.close - (prevClose ?? 0), prevClose),
      amplitude: ratio(bar.high - bar.low, prevClose),
      turnover_rate: ratio(bar.volume * REGIONS[region].lot, floatShares),
      ...(instrument?.name ? { name: instrument.name } : {}),
    },
  };
}
