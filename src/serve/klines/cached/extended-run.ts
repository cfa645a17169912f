import { isPresent, putBit } from "../../../core/bits.js";
import { int64At, int64Words } from "../../../core/int64-words.js";
import type { TimeRange } from "../../../core/time.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { dayRange } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { localDate } from "../../../market/zone.js";
import type { KlineValues, NumberColumn } from "../../../wire/kline-columns.js";
import type { BarRun } from "../bar-runs.js";
import { appendRows, type GrowingRun, hasSpace, memoryFor, RunBlocks } from "./run-memory.js";

/** A run followed by the bars of another run; undefined where not all bars of the other run are later. */
export function extendedRun(
  run: GrowingRun,
  later: BarRun,
  blocks: RunBlocks = new RunBlocks(1),
): GrowingRun | undefined {
  if (later.start === later.end) return run;
  if (!isLater(later, run)) return undefined;
  const rows = later.end - later.start;
  const own = hasSpace(run, rows) ? run : { ...run, memory: undefined };
  const memory = memoryFor(own, later, rows, blocks);
  const start = memory === run.memory ? run.start : memory.used;
  if (memory !== run.memory) appendRows(memory, run);
  appendRows(memory, later);
  const { values, used: end } = memory;
  return { symbol: run.symbol, values, start, end, found: end - start, memory };
}

/**
 * Extends a run of days, each made from the minutes of a trading date, by later minutes, with the rules of
 * `BAR_AGGREGATES`. Volumes are in shares.
 *
 * @returns undefined where not all minutes are later than those in the run.
 */
export function extendedDays(
  run: GrowingRun,
  minutes: BarRun,
  dayOf: DayFinder,
  blocks: RunBlocks = new RunBlocks(1),
): GrowingRun | undefined {
  if (minutes.start === minutes.end) return run;
  if (!isLater(minutes, run)) return undefined;
  const region = regionOf(run.symbol) as Region;
  const times = int64Words(minutes.values.timestamp);
  const own = run.end - run.start;
  const firsts = firstMinutesOf(minutes, own === 0 ? undefined : Number(run.values.timestamp[run.end - 1]));
  // The last day changes, so all days are written again, to new rows.
  const memory = memoryFor(run, minutes, own + firsts.length, blocks);
  const { values, used: start } = memory;
  appendRows(memory, run);
  for (let k = -1; k < firsts.length; k++) {
    const from = k < 0 ? minutes.start : (firsts[k] as number);
    if (k >= 0) {
      appendRows(memory, { ...minutes, start: from, end: from + 1 });
      stateZeros(values, memory.used - 1);
    }
    const next = firsts[k + 1] ?? minutes.end;
    for (let row = k < 0 ? from : from + 1; row < next; row++)
      addMinute(values, memory.used - 1, minutes.values, row);
  }
  const end = memory.used;
  return { symbol: run.symbol, values, start, end, found: end - start, memory };

  /** The first minute of each day that begins after the day of an instant. */
  function firstMinutesOf({ start: first, end: after }: BarRun, last: number | undefined): number[] {
    const found: number[] = [];
    let dayEnd = last === undefined ? Number.NEGATIVE_INFINITY : dayOf(last, region).end;
    for (let row = first; row < after; row++) {
      const time = int64At(times, row);
      if (time < dayEnd) continue;
      found.push(row);
      dayEnd = dayOf(time, region).end;
    }
    return found;
  }
}

/** The minutes of each symbol as days: see {@link extendedDays}. */
export function daysOfMinutes(minutes: ReadonlyMap<string, BarRun>): Map<string, BarRun> {
  const [dayOf, blocks] = [dayFinder(), new RunBlocks(minutes.size)];
  const daysOf = (run: BarRun): BarRun =>
    extendedDays({ ...run, end: run.start }, run, dayOf, blocks) as BarRun;
  return new Map([...minutes].map(([symbol, run]) => [symbol, daysOf(run)]));
}

function isLater(later: BarRun, run: BarRun): boolean {
  if (run.start === run.end) return true;
  return (later.values.timestamp[later.start] as bigint) > (run.values.timestamp[run.end - 1] as bigint);
}

/** A price of a bar. Some feeds set the prices of a bar without trades to 0: see `statedPriceSql`. */
function stated({ values }: NumberColumn, close: number, row: number): number {
  return values[row] === 0 ? close : (values[row] as number);
}

function stateZeros({ doubles: { open, high, low, close } }: KlineValues, row: number): void {
  for (const price of [open, high, low]) price.values[row] = stated(price, close.values[row] as number, row);
}

function addMinute(days: KlineValues, day: number, minutes: KlineValues, row: number): void {
  const [to, from] = [days.doubles, minutes.doubles];
  const close = from.close.values[row] as number;
  days.timestamp[day] = minutes.timestamp[row] as bigint;
  days.volume[day] = (days.volume[day] as bigint) + (minutes.volume[row] as bigint);
  to.high.values[day] = Math.max(to.high.values[day] as number, stated(from.high, close, row));
  to.low.values[day] = Math.min(to.low.values[day] as number, stated(from.low, close, row));
  to.close.values[day] = close;
  to.amount.values[day] = (to.amount.values[day] as number) + (from.amount.values[row] as number);
  copyDouble(from.open_interest, row, to.open_interest, day);
  copyDouble(from.settlement_price, row, to.settlement_price, day);
}

function copyDouble(from: NumberColumn, row: number, to: NumberColumn, day: number): void {
  // A column of nulls may have no values, and its bitmap may be shared with other columns.
  if (to.values.length === 0) return;
  to.values[day] = from.values[row] ?? 0;
  if (to.validity !== undefined) putBit(to.validity, day, isPresent(from.validity, row));
}

/** Returns the day of a region that contains an instant, from local midnight to midnight. */
export type DayFinder = (timestamp: number, region: Region) => TimeRange;

/**
 * Makes a day finder that caches the last day of each region: converting to a zone is slow, and most bars are of one
 * day.
 */
export function dayFinder(): DayFinder {
  const last = new Map<Region, TimeRange>();
  return (timestamp, region) => {
    const known = last.get(region);
    if (known !== undefined && timestamp >= known.start && timestamp < known.end) return known;
    const found = dayRange(region, localDate(timestamp, REGIONS[region].zone));
    last.set(region, found);
    return found;
  };
}
