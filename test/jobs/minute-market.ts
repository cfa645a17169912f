import { SESSION_HOURS } from "../../src/market/sessions.js";
import type { Seen } from "../faults/service/scripted-service.js";
import type { Bars } from "./scripted-market.js";

const DAY = 86_400_000;
const MINUTE = 60_000;

/** Midnights in Shanghai of the weekdays from one date to another (exclusive). */
export function weekdays(first: string, end: string): number[] {
  const found: number[] = [];
  const until = Date.parse(`${end}T00:00:00+08:00`);
  for (let ms = Date.parse(`${first}T00:00:00+08:00`); ms < until; ms += DAY) {
    const weekday = new Date(ms + 8 * 3_600_000).getUTCDay();
    if (weekday > 0 && weekday < 6) found.push(ms);
  }
  return found;
}

/** Ends of the minutes of days in Shanghai, without the auction's: 240 per day. */
export function minutes(days: readonly number[]): number[] {
  return days.flatMap((day) =>
    SESSION_HOURS.CN.parts.flatMap(([from, to]) =>
      Array.from({ length: to - from }, (_, n) => day + (from + 1 + n) * MINUTE),
    ),
  );
}

/** Times of the bars of each symbol, ascending, in epoch milliseconds. */
export type BarTimes = Readonly<Record<string, readonly number[]>>;

/** The newest bars of a request's window as a service sends them, at most `cap` of each symbol. */
export function newestBars({ query }: Seen, market: BarTimes, cap = 10_000): Record<string, Bars> {
  const [start, end] = [Number(query.get("start_time")), Number(query.get("end_time"))];
  const count = Math.min(Number(query.get("count")), cap);
  const data: Record<string, Bars> = {};
  for (const symbol of (query.get("symbols") ?? "").split(",")) {
    const own = (market[symbol] ?? []).filter((ms) => ms >= start && ms <= end);
    if (own.length > 0) data[symbol] = barsAt(own.slice(-count));
  }
  return data;
}

/** Bars at the given times, all with the same values. */
export function barsAt(timestamp: readonly number[], close = 10): Bars {
  const of = (value: number): number[] => timestamp.map(() => value);
  const prices = { open: of(close), high: of(close), low: of(close), close: of(close) };
  return { timestamp: [...timestamp], ...prices, volume: of(100), amount: of(close * 1e4) };
}
