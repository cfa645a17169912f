import { MINUTE_MS, type TimeRange } from "../../../../src/core/time.js";
import type { LandedPeriod } from "../../../../src/market/period.js";
import { drawsOf } from "../draws.js";
import type { MarketShape, TrueDay } from "./market-shape.js";

/** A change by the service to bars of one symbol and day, some time after they were final. */
export interface LateChange {
  readonly kind: "corrected" | "withdrawn";
  /** When, in epoch milliseconds. */
  readonly at: number;
  /** The bars that change. */
  readonly range: TimeRange;
}

const HOUR_MS = 60 * MINUTE_MS;
/** Time before the market's end in which only the last process runs. */
const REST_HOURS = 12;
/** Time before the end in which changes are made. */
const CHANGING_HOURS = 4 * 24;
/** One in this number of days of a symbol changes: among the days that a run requests again, and among older ones. */
const RECENT_DAYS = 12;
const OLDER_DAYS = { "1d": 60, "1m": 12 } as const;
/** One in this number of symbols loses all its bars. */
const VANISHING_SYMBOLS = 30;

/** The late change of a symbol's day in a market whose service makes such changes. */
export function lateChange(
  { seed, end, changesLate }: MarketShape,
  period: LandedPeriod,
  symbol: string,
  day: TrueDay,
): LateChange | undefined {
  const [from, until] = [day.settled + HOUR_MS, end];
  if (changesLate !== true || from >= until) return undefined;
  const all = drawsOf(seed, `late change ${period} ${symbol}`);
  if (all.below(VANISHING_SYMBOLS) === 0) {
    const at = Math.max(from, end - REST_HOURS * HOUR_MS * all.fraction());
    return { kind: "withdrawn", at, range: day };
  }
  const draw = drawsOf(seed, `late change ${period} ${symbol} ${day.date}`);
  const isRecent = day.start > end - CHANGING_HOURS * HOUR_MS;
  if (draw.below(isRecent ? RECENT_DAYS : OLDER_DAYS[period]) > 0) return undefined;
  const kind = draw.of(["corrected", "withdrawn", "withdrawn"] as const);
  const hours = draw.of([REST_HOURS, CHANGING_HOURS]);
  const at = Math.max(from, end - hours * HOUR_MS * draw.fraction());
  return { kind, at, range: period === "1d" ? day : partOf(day, draw.below(4)) };
}

/** The whole day, or minutes at its beginning, in its middle or at its end. */
function partOf(day: TrueDay, part: number): TimeRange {
  const hours = [
    [0, 24],
    [0, 0.6],
    [1, 1.5],
    [5, 24],
  ][part] as [number, number];
  const since = part === 0 ? day.start : day.open;
  return { start: since + hours[0] * HOUR_MS, end: Math.min(day.end, since + hours[1] * HOUR_MS) };
}
