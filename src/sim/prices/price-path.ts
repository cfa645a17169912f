import { dayTick, highestTicks, lowestTicks, onGrid, type SimInstrument } from "../instrument.js";
import { bell, integer, logUniform, mix, uniform } from "../random.js";
import type { RegionCalendar } from "../trading-days.js";

const YEAR_DAYS = 365.25;

/** Whether an ex-date is on a trading day, or between it and the previous trading day. */
function exEventDue(instrument: SimInstrument, calendar: RegionCalendar, dayIndex: number): boolean {
  if (dayIndex === 0) return false;
  const period = YEAR_DAYS / instrument.board.payouts;
  const phase = period - exDayOfYear(instrument);
  const before = calendar.epochDays[dayIndex - 1] as number;
  const day = calendar.epochDays[dayIndex] as number;
  return Math.floor((day + phase) / period) !== Math.floor((before + phase) / period);
}

/** The number of shares that one share becomes on an ex-date; usually 1, and 0.1 in a consolidation. */
function splitOf(instrument: SimInstrument, dayKey: number, closeMilli: number): number {
  const { splits, splitRatios, consolidatesBelow } = instrument.board;
  if (closeMilli < consolidatesBelow * 1000 && uniform(dayKey, 13) < 0.4) return 0.1;
  if (uniform(dayKey, 10) >= splits) return 1;
  return splitRatios[integer(dayKey, 11, splitRatios.length)] as number;
}

/**
 * The prev_close of an ex-date, in thousandths of the currency: (close - dividend) / split ratio, rounded to the step.
 */
function exReference(
  instrument: SimInstrument,
  dayKey: number,
  closeMilli: number,
  splitRatio: number,
): number {
  const { board } = instrument;
  const pays = uniform(instrument.key, 22) < board.payers;
  const yielded = pays ? logUniform(dayKey, 12, board.dividend) : 0;
  if (yielded === 0 && splitRatio === 1) return closeMilli;
  return onGrid(board, (closeMilli * (1 - yielded)) / splitRatio);
}

/** Most Chinese ex-dates are in May to July; in other regions they are spread over the year. */
function exDayOfYear(instrument: SimInstrument): number {
  const { key, board } = instrument;
  if (board.region === "CN" && uniform(key, 23) < 0.7) return 120 + integer(key, 24, 90);
  return integer(key, 24, Math.floor(YEAR_DAYS / board.payouts));
}

/** The kinds of a day, as stored in {@link PricePath.kind}. Up and Down mean the limit that the price reached. */
export const DAY_KIND = {
  ordinary: 0,
  /** The price reaches the limit during the day and remains there until the close. */
  sealedUp: 1,
  /** All trades are at the limit. */
  lockedUp: 2,
  /** The price reaches the limit, but the close is not at it. */
  touchedUp: 3,
  sealedDown: 4,
  lockedDown: 5,
  touchedDown: 6,
  /** Suspended, without a bar from the service. */
  suspendedAbsent: 7,
  /** Suspended, with a daily bar of zeros from the service that closes at prev_close. */
  suspendedFlat: 8,
} as const;

/** Trading days after a listing in China without a price limit. */
export const TRADING_DAYS_WITHOUT_LIMIT = 5;

/** A dividend or split, on the first trading day without it. */
export interface ExEvent {
  readonly dayIndex: number;
  /** Close of the previous day, in thousandths of the currency. */
  readonly lastCloseMilli: number;
  /** That close minus the payout: the prev_close of the ex-date. */
  readonly referenceMilli: number;
  /** Number of shares that one share becomes: 1 if there is only a dividend, below 1 in a consolidation. */
  readonly splitRatio: number;
}

/**
 * An instrument's days, 9 bytes each: only values that must be computed day after day. Index 0 of each array is the
 * instrument's `start` in the calendar. Prices are in thousandths of the currency.
 */
export interface PricePath {
  /** prev_close as the exchange states it. */
  readonly reference: Int32Array;
  readonly close: Int32Array;
  readonly kind: Uint8Array;
  /** Number of days at the beginning without a limit. */
  readonly freeDays: number;
  /** Ascending. */
  readonly events: readonly ExEvent[];
}

export function isSuspended(kind: number): boolean {
  return kind >= DAY_KIND.suspendedAbsent;
}

export function dayKeyOf(instrument: SimInstrument, calendar: RegionCalendar, dayIndex: number): number {
  return mix(instrument.key, calendar.epochDays[dayIndex] as number);
}

export function walkPrices(instrument: SimInstrument, calendar: RegionCalendar): PricePath {
  const { board, start, end, key } = instrument;
  const reference = new Int32Array(end - start);
  const close = new Int32Array(end - start);
  const kind = new Uint8Array(end - start);
  const events: ExEvent[] = [];
  const freeDays = board.region === "CN" && start > 0 ? TRADING_DAYS_WITHOUT_LIMIT : 0;
  const beta = 0.6 + 0.8 * uniform(key, 20);
  const sigma = (board.type === "etf" ? 0.006 : 0.012) + 0.014 * uniform(key, 21);
  let last = instrument.basePriceMilli;
  let anchor = last;
  let suspended: number = DAY_KIND.suspendedAbsent;
  let suspendedEnd = 0;
  let exDue = false;
  for (let day = start; day < end; day++) {
    const at = day - start;
    const dayKey = dayKeyOf(instrument, calendar, day);
    exDue ||= at > freeDays && exEventDue(instrument, calendar, day);
    if (at > 0 && day >= suspendedEnd && uniform(dayKey, 0) < board.suspensions) {
      suspendedEnd = day + 1 + integer(dayKey, 1, 12);
      suspended = uniform(dayKey, 2) < 0.5 ? DAY_KIND.suspendedAbsent : DAY_KIND.suspendedFlat;
    }
    if (day < suspendedEnd) {
      reference[at] = close[at] = last;
      kind[at] = suspended;
      continue;
    }
    let prev = last;
    if (exDue) {
      exDue = false;
      const splitRatio = splitOf(instrument, dayKey, last);
      prev = exReference(instrument, dayKey, last, splitRatio);
      anchor /= splitRatio;
      if (prev !== last)
        events.push({ dayIndex: day, lastCloseMilli: last, referenceMilli: prev, splitRatio });
    }
    const free = at < freeDays;
    const tick = dayTick(board, prev);
    const highest = highestTicks(board, prev, tick, free);
    const lowest = Math.max(lowestTicks(board, prev, tick, free), 1);
    const floor = Math.min(highest, Math.ceil(board.floorMilli / tick));
    const ruled =
      board.limitPercent === undefined || free ? DAY_KIND.ordinary : drawKind(dayKey, lowest > floor);
    const drift = 0.0008 * Math.log(anchor / prev) - (nearDelisting(instrument, day) ? 0.012 : 0);
    const wild = sigma * (free ? 2.5 : 1) * (1 + 2 * uniform(dayKey, 3) ** 8);
    const move = beta * (calendar.marketReturns[day] as number) + wild * bell(dayKey, 4) + drift;
    const ordinary = Math.min(highest, Math.max(lowest, floor, Math.round((prev * Math.exp(move)) / tick)));
    reference[at] = prev;
    kind[at] = ruled;
    last = tick * closeTicks(ruled, ordinary, prev / tick, lowest, highest, uniform(dayKey, 5));
    close[at] = last;
  }
  return { reference, close, kind, freeDays, events };
}

/** Limit days: about 1 day in 100 up, fewer down; most of them sealed, some locked, some only touched. */
function drawKind(dayKey: number, downAllowed: boolean): number {
  const draw = uniform(dayKey, 6);
  const shape = uniform(dayKey, 7);
  const offset = shape < 0.6 ? 0 : shape < 0.8 ? 1 : 2;
  if (draw < 0.01) return DAY_KIND.sealedUp + offset;
  if (draw < 0.016 && downAllowed) return DAY_KIND.sealedDown + offset;
  return DAY_KIND.ordinary;
}

/** The close of a day in steps. `part` in [0, 1) sets how far it is from a limit that was only touched. */
function closeTicks(
  kind: number,
  ordinary: number,
  prev: number,
  lowest: number,
  highest: number,
  part: number,
): number {
  switch (kind) {
    case DAY_KIND.sealedUp:
    case DAY_KIND.lockedUp:
      return highest;
    case DAY_KIND.sealedDown:
    case DAY_KIND.lockedDown:
      return lowest;
    case DAY_KIND.touchedUp:
      return highest - Math.max(1, Math.floor((highest - prev) * (0.2 + 0.5 * part)));
    case DAY_KIND.touchedDown:
      return lowest + Math.max(1, Math.floor((prev - lowest) * (0.2 + 0.5 * part)));
    default:
      return ordinary;
  }
}

function nearDelisting(instrument: SimInstrument, day: number): boolean {
  return instrument.delisted !== undefined && instrument.end - day <= 40;
}
