import type { TradingDate } from "../core/time.js";
import { REGION_NAMES, REGIONS, type Region } from "./regions.js";
import { addDays, dayRange, finalEnd, hasOpened } from "./sessions.js";
import { localDate } from "./zone.js";

/** Until when something was known: an instant in epoch milliseconds, or the end of a trading date, in each region its own. */
export type KnownAt = number | TradingDate;

/** A time as a text for people: `the end of 2026-06-30`, or an instant in UTC. */
export function knownAtText(knownAt: KnownAt): string {
  return typeof knownAt === "number" ? new Date(knownAt).toISOString() : `the end of ${knownAt}`;
}

/** Whether in some region more was known at `one` than at `other`. */
export function isLater(one: KnownAt, other: KnownAt): boolean {
  return REGION_NAMES.some((region) => knownDates(one, region).until > knownDates(other, region).until);
}

/** What a clock at the exchanges of a region says. */
export interface KnownDates {
  /** The last instant at which something could be learned, epoch milliseconds. */
  readonly until: number;
  readonly today: TradingDate;
  /** The newest date that is over: what was announced on it counts. */
  readonly ended: TradingDate;
  /** The newest date whose session has opened. */
  readonly opened: TradingDate;
  /** The newest date whose bars no longer change. */
  readonly final: TradingDate;
}

export function knownDates(knownAt: KnownAt, region: Region): KnownDates {
  if (typeof knownAt !== "number") {
    const until = dayRange(region, knownAt).end - 1;
    return { until, today: knownAt, ended: knownAt, opened: knownAt, final: knownAt };
  }
  const { zone } = REGIONS[region];
  const today = localDate(knownAt, zone);
  const yesterday = addDays(today, -1);
  return {
    until: knownAt,
    today,
    ended: yesterday,
    opened: hasOpened(region, today, knownAt) ? today : yesterday,
    final: localDate(finalEnd(region, knownAt) - 1, zone),
  };
}
