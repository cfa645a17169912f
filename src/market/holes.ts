import { lowerBound } from "../core/lower-bound.js";
import { epochDay, type TradingDate } from "../core/time.js";
import { REGION_NAMES, type Region } from "./regions.js";
import { unknownBetween } from "./trading-calendar.js";

/**
 * Whether the lake may lack bars between two consecutive bars of a symbol: then the close of the first one says nothing about
 * the previous close that the second one states. Days are counted since 1970-01-01.
 */
export type IsHole = (last: number, day: number) => boolean;

type HoleOf = (one: { readonly symbol: string; readonly region: Region }) => IsHole;

interface HoleFacts {
  /** The known trading days of a region, ascending. */
  readonly tradingDays: ReadonlyMap<Region, readonly TradingDate[]>;
  /**
   * Stretches of days of which a response said that a symbol has no bar: the first and the last day of each, days since
   * 1970-01-01, ascending and disjoint.
   */
  readonly absences: ReadonlyMap<string, readonly number[]>;
}

/**
 * The rule of the view `ex_events`: there is a hole where the calendar knows nothing of three weeks or more, and where a session
 * lies between two bars of which no response said that the symbol has none. A stretch without bars of which the lake has a
 * bar, from another source, says nothing: the service lacks that time.
 */
export function holesIn({ tradingDays, absences }: HoleFacts): HoleOf {
  const regions = new Map(
    REGION_NAMES.map((region) => {
      const dates = tradingDays.get(region) ?? [];
      return [region, { sessions: Int32Array.from(dates, epochDay), isUnknown: unknownBetween(dates) }];
    }),
  );
  return ({ symbol, region }) => {
    const { sessions, isUnknown } = regions.get(region) as {
      readonly sessions: Int32Array;
      readonly isUnknown: IsHole;
    };
    const stretches = absences.get(symbol) ?? [];
    return (last, day) => isUnknown(last, day) || lacksSession({ sessions, stretches }, last, day);
  };
}

/** Whether a region's calendar, of known trading days, has a session between two days since 1970-01-01. */
export function sessionsIn(
  tradingDays: HoleFacts["tradingDays"],
): (region: Region) => (last: number, day: number) => boolean {
  const regions = new Map(
    REGION_NAMES.map((region) => [region, Int32Array.from(tradingDays.get(region) ?? [], epochDay)]),
  );
  return (region) => {
    const sessions = regions.get(region) as Int32Array;
    return (last, day) => {
      const next = lowerBound(0, sessions.length, (at) => (sessions[at] as number) > last);
      return (sessions[next] ?? day) < day;
    };
  };
}

function lacksSession(
  { sessions, stretches }: { readonly sessions: Int32Array; readonly stretches: readonly number[] },
  last: number,
  day: number,
): boolean {
  let at = 0;
  for (
    let n = lowerBound(0, sessions.length, (i) => (sessions[i] as number) > last);
    n < sessions.length;
    n++
  ) {
    const session = sessions[n] as number;
    if (session >= day) return false;
    while (at < stretches.length && (stretches[at + 1] as number) < session) at += 2;
    const [first = day, end = day] = [stretches[at], stretches[at + 1]];
    if (first > session || first <= last || end >= day) return true;
  }
  return false;
}
