import type { TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import type { Instrument, Quote } from "../../wire/resources.js";
import type { LastBar } from "../klines/last-bars.js";
import type { QuoteBars } from "../klines/quote-bars.js";
import { EXT_TYPE } from "../read/reference-data.js";
import type { RegionDates } from "./region-dates.js";

/** A quote, and whether it depends on the time of the request. */
export interface MadeQuote {
  readonly quote: Quote;
  readonly isTimed: boolean;
}

/** Makes the quote of a symbol of a region; undefined where it has no bars. */
export function quoteOf(
  symbol: string,
  bars: QuoteBars,
  instrument: Instrument | undefined,
  dates: RegionDates,
): MadeQuote | undefined {
  const facts = quoteFacts(bars, dates);
  if (facts === undefined) return undefined;
  const isHalted = dates.status !== "closed" && isSuspended(facts.bar) && dates.isToday(facts.timestamp);
  return {
    quote: quoteFrom(symbol, dates.region, facts, instrument, isHalted ? "halted" : dates.status),
    isTimed: facts.timestamp === dates.now,
  };
}

interface QuoteFacts {
  readonly bar: LastBar;
  readonly timestamp: number;
  /** Undefined where neither the bar nor the previous session has it. */
  readonly prevClose: number | undefined;
}

/**
 * Makes a quote from the daily bar once the day is final, otherwise from the minutes. The quote's time is that of the
 * last minute, or the close. The previous close is the one in the bar, else the close of the previous session; a bar
 * older than that session is not used for it.
 */
function quoteFacts({ daily, minutes }: QuoteBars, dates: RegionDates): QuoteFacts | undefined {
  const newest = daily.at(-1);
  const dayOf = (bar: LastBar): TradingDate => dates.of(bar.timestamp);
  const sameDay = newest !== undefined && minutes !== undefined && dayOf(newest) === dayOf(minutes);
  const closeBefore = (bar: LastBar, before: LastBar | undefined): number | undefined =>
    before !== undefined && dates.areNeighbours(dayOf(before), dayOf(bar)) ? before.close : undefined;
  if (minutes !== undefined && !(sameDay && newest.timestamp < dates.finalEnd)) {
    const before = sameDay ? daily.at(-2) : newest;
    const stated = minutes.prevClose ?? (sameDay ? newest.prevClose : null);
    return { bar: minutes, timestamp: minutes.timestamp, prevClose: stated ?? closeBefore(minutes, before) };
  }
  if (newest === undefined) return undefined;
  const closesAt = dates.closeOf(dayOf(newest));
  const timestamp = sameDay ? minutes.timestamp : Math.min(closesAt, Math.max(dates.now, newest.timestamp));
  return { bar: newest, timestamp, prevClose: newest.prevClose ?? closeBefore(newest, daily.at(-2)) };
}

function quoteFrom(
  symbol: string,
  region: Region,
  { bar, timestamp, prevClose }: QuoteFacts,
  instrument: Instrument | undefined,
  session: Quote["session"],
): Quote {
  return {
    symbol,
    region,
    session,
    last_price: bar.close,
    open: bar.open,
    high: bar.high,
    low: bar.low,
    prev_close: prevClose ?? 0,
    volume: bar.volume,
    amount: bar.amount,
    timestamp,
    ext: {
      type: EXT_TYPE[region],
      name: instrument?.name || undefined,
      change_amount: prevClose === undefined ? undefined : bar.close - prevClose,
      change_pct: ratio(bar.close - (prevClose ?? 0), prevClose),
      amplitude: ratio(bar.high - bar.low, prevClose),
      turnover_rate: ratio(bar.volume * REGIONS[region].lot, instrument?.ext?.float_shares),
    },
  };
}

function ratio(part: number, whole: unknown): number | undefined {
  return typeof whole === "number" && whole > 0 ? part / whole : undefined;
}

/**
 * Whether a bar has the form in which services deliver a day on which a symbol was suspended: prices of 0, and no
 * trade.
 */
function isSuspended({ open, high, low, volume }: LastBar): boolean {
  return volume === 0 && open === 0 && high === 0 && low === 0;
}
