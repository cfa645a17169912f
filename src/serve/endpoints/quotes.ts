import type { TimeRange, TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { closeMinute, finalEnd } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import { BARS_1M } from "../../schema/bars.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { Instrument, Quote } from "../../wire/resources.js";
import { barsOf, type LastBar } from "../klines/last-bars.js";
import { latestDays } from "../klines/latest-days.js";
import { readKlines } from "../klines/read-klines.js";
import { ALL_TIME } from "../klines/requested-bars.js";
import { MINUTES_OF_A_DAY, seriesOf } from "../klines/series.js";
import type { LakeView } from "../read/lake-reader.js";
import { EXT_TYPE } from "../read/reference-data.js";
import { type EndpointHandler, TextResponse } from "./response.js";

/** Rows that take as much memory as one quote: its objects and their garbage. */
const ROWS_OF_A_QUOTE = 100;

/** `POST /v1/quotes`: made from each symbol's newest bars; a symbol without bars is left out. */
export const serveQuotes: EndpointHandler = (view, { body, now }) =>
  quotes(view, parseParameters(PARAMETERS.quotes, body), now);

/** `GET /v1/quotes` */
export const serveQuotesOf: EndpointHandler = (view, { query, now }) =>
  quotes(view, parseParameters(PARAMETERS.quotesOf, query), now);

async function quotes(
  view: LakeView,
  asked: {
    readonly symbols?: readonly string[] | undefined;
    readonly universes?: readonly string[] | undefined;
  },
  now: number,
): Promise<TextResponse> {
  const scope = await view.scope();
  scope.checkSymbols(asked.symbols ?? []);
  scope.checkUniverses(asked.universes ?? []);
  const { instruments, members } = await view.reference();
  const listed = (asked.universes ?? []).flatMap((id) => members.get(id) ?? []);
  const symbols = [...new Set([...(asked.symbols ?? []), ...listed])];
  await view.acquireMemory(symbols.length * ROWS_OF_A_QUOTE);
  const daily = await lastDailyBars(view, symbols);
  const minutes = await lastMinuteDays(view, symbols, daily);
  const dates = new Dates(now);
  const texts = symbols.flatMap((symbol) => {
    const facts = quoteFacts(symbol, barsOfRun(daily, symbol), barsOfRun(minutes, symbol)[0], now, dates);
    return facts === undefined ? [] : [JSON.stringify(quoteOf(symbol, facts, instruments.get(symbol)))];
  });
  return new TextResponse(`{"data":[${texts.join()}]}`);
}

type Runs = ReadonlyMap<string, KlineRun>;

const runsBySymbol = (runs: readonly KlineRun[]): Runs => new Map(runs.map((run) => [run.symbol, run]));

function barsOfRun(runs: Runs, symbol: string): LastBar[] {
  const run = runs.get(symbol);
  return run === undefined ? [] : barsOf(run);
}

/** The newest two daily bars of each symbol, newest last. */
async function lastDailyBars(view: LakeView, symbols: readonly string[]): Promise<Runs> {
  return runsBySymbol(
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

/** The minutes of the latest day as one bar per symbol, for symbols whose newest daily bar is not of a later day. */
async function lastMinuteDays(view: LakeView, symbols: readonly string[], daily: Runs): Promise<Runs> {
  const days = await latestDays(view.version, await view.version.snapshot(BARS_1M));
  const rangeOf = (region: Region): TimeRange => days.get(region) ?? { start: 0, end: 0 };
  const outdated = symbols.filter((symbol) => {
    const region = regionOf(symbol);
    if (region === undefined) return false;
    const run = daily.get(symbol);
    if (run === undefined || run.start === run.end) return true;
    return Number(run.values.timestamp[run.end - 1]) < rangeOf(region).end;
  });
  const runs = await readKlines(view, {
    symbols: outdated,
    series: MINUTES_OF_A_DAY,
    adjustment: "none",
    count: 1,
    rangeOf,
    isKnown: () => true,
  });
  return runsBySymbol(runs);
}

/** The value of a key, computed only once. */
function once<T>(values: Map<string, T>, key: string, make: () => T): T {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

/** Cached dates and closing times: computing them is slow, and the bars of a universe share a few timestamps. */
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

  /** The time at which a region's last session of a day ends. */
  closeOf(date: TradingDate, region: Region): number {
    return once(this.#instants, `${region} ${date}`, () =>
      instantOf(date, REGIONS[region].zone, closeMinute(region)),
    );
  }

  /** The start of the first day of a region that is not final yet. */
  finalEnd(region: Region): number {
    return once(this.#instants, region, () => finalEnd(region, this.#now));
  }
}

interface QuoteFacts {
  readonly bar: LastBar;
  readonly timestamp: number;
  readonly prevClose: number | null;
}

/**
 * Uses the daily bar once the day is final, otherwise the minutes. The quote's time is that of the last minute, or the
 * close.
 */
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
): Quote {
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
