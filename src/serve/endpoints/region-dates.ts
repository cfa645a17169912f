import type { TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { type SessionStatus, sessionStatus } from "../../market/session-status.js";
import { closeMinute, finalEnd } from "../../market/sessions.js";
import type { TradingCalendar } from "../../market/trading-calendar.js";
import { instantOf, localDate } from "../../market/zone.js";

/**
 * Dates and closing times of a region at the time of a request. They are cached: computing them is slow, and the bars
 * of a universe share a few timestamps.
 */
export class RegionDates {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly region: Region;
  /** The state of the region's market. */
  readonly status: SessionStatus;
  /** The start of the region's first day that is not final yet, in epoch milliseconds. */
  readonly finalEnd: number;
  readonly #calendar: TradingCalendar;
  readonly #dates = new Map<number, TradingDate>();
  readonly #closes = new Map<TradingDate, number>();
  readonly #neighbours = new Map<TradingDate, Map<TradingDate, boolean>>();

  constructor(now: number, region: Region, calendar: TradingCalendar) {
    this.now = now;
    this.region = region;
    this.#calendar = calendar;
    this.status = sessionStatus(region, now, (date) => calendar.isOpen(date));
    this.finalEnd = finalEnd(region, now);
  }

  /** The trading date of a bar. @param timestamp epoch milliseconds. */
  of(timestamp: number): TradingDate {
    return once(this.#dates, timestamp, () => localDate(timestamp, REGIONS[this.region].zone));
  }

  isToday(timestamp: number): boolean {
    return this.of(timestamp) === this.of(this.now);
  }

  /** Whether the region has no session between two dates. */
  areNeighbours(before: TradingDate, date: TradingDate): boolean {
    const later = once(this.#neighbours, before, () => new Map<TradingDate, boolean>());
    return once(later, date, () => this.#calendar.areNeighbours(before, date));
  }

  /** The time at which the last session of a day ends, in epoch milliseconds. */
  closeOf(date: TradingDate): number {
    return once(this.#closes, date, () =>
      instantOf(date, REGIONS[this.region].zone, closeMinute(this.region)),
    );
  }
}

/** The value of a key, computed only once. */
function once<K, V>(values: Map<K, V>, key: K, make: () => V): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}
