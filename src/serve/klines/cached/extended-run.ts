import { copyBits, isSet, putBit } from "../../../core/bits.js";
import { int64At, int64Words } from "../../../core/int64-words.js";
import type { TimeRange } from "../../../core/time.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { dayRange } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { localDate } from "../../../market/zone.js";
import { DOUBLE_COLUMNS, type KlineValues, type NumberColumn } from "../../../wire/kline-columns.js";
import { type BarRun, compacted, eachDouble, nothing } from "../bar-runs.js";

/** The bars of a run, then those of another; undefined where not all of the other are later. */
export function extendedRun(run: BarRun, later: BarRun): BarRun | undefined {
  const [own, more] = [run.end - run.start, later.end - later.start];
  if (more === 0) return run;
  if (own === 0) return compacted(later);
  if ((later.values.timestamp[later.start] as bigint) <= (run.values.timestamp[run.end - 1] as bigint))
    return undefined;
  const rows = own + more;
  const values: KlineValues = {
    timestamp: joinedIntegers(run, later, "timestamp"),
    volume: joinedIntegers(run, later, "volume"),
    doubles: eachDouble((name) => joinedColumns(run, later, name)),
  };
  return { symbol: run.symbol, values, start: 0, end: rows, found: rows };
}

function joinedIntegers(run: BarRun, later: BarRun, name: "timestamp" | "volume"): BigInt64Array {
  const own = run.values[name].subarray(run.start, run.end);
  const more = later.values[name].subarray(later.start, later.end);
  const values = new BigInt64Array(own.length + more.length);
  values.set(own);
  values.set(more, own.length);
  return values;
}

function joinedColumns(run: BarRun, later: BarRun, name: (typeof DOUBLE_COLUMNS)[number]): NumberColumn {
  const [a, b] = [run.values.doubles[name], later.values.doubles[name]];
  const [own, more] = [run.end - run.start, later.end - later.start];
  // A column of nulls may have no values.
  if (a.values.length === 0 && b.values.length === 0) return nothing(own + more);
  const values = new Float64Array(own + more);
  if (a.values.length > 0) values.set(a.values.subarray(run.start, run.end));
  if (b.values.length > 0) values.set(b.values.subarray(later.start, later.end), own);
  if (a.validity === undefined && b.validity === undefined) return { values, validity: undefined };
  const validity = new Uint8Array(Math.ceil((own + more) / 8));
  copyBits(a.validity, run.start, own, validity, 0);
  copyBits(b.validity, later.start, more, validity, own);
  return { values, validity };
}

/**
 * A run of days, each made of the minutes of a trading date, with later minutes added by the rules of `BAR_AGGREGATES`;
 * undefined where not all minutes are later than those of the days. Volumes are in shares.
 */
export function extendedDays(run: BarRun, minutes: BarRun, dayOf: DayFinder): BarRun | undefined {
  // The rows of the days, and space for a day of each minute: those that are not used are dropped.
  const days = extendedRun(run, minutes);
  if (days === undefined || minutes.start === minutes.end) return days;
  const region = regionOf(run.symbol) as Region;
  const from = days.end - (minutes.end - minutes.start);
  const times = int64Words(days.values.timestamp);
  let last = from - 1;
  let end = last < days.start ? Number.NEGATIVE_INFINITY : dayOf(int64At(times, last), region).end;
  for (let row = from; row < days.end; row++) {
    stateZeros(days.values, row);
    const time = int64At(times, row);
    if (time < end) addMinute(days.values, last, row);
    else {
      last += 1;
      moveRow(days.values, row, last);
      end = dayOf(time, region).end;
    }
  }
  return compacted({ ...days, end: last + 1, found: last + 1 - days.start });
}

/** Some feeds set these prices to 0 in a bar without trades: see `statedPriceSql`. */
function stateZeros({ doubles }: KlineValues, row: number): void {
  for (const { values } of [doubles.open, doubles.high, doubles.low])
    if (values[row] === 0) values[row] = doubles.close.values[row] as number;
}

function addMinute({ timestamp, volume, doubles }: KlineValues, day: number, row: number): void {
  const { high, low, close, amount } = doubles;
  timestamp[day] = timestamp[row] as bigint;
  volume[day] = (volume[day] as bigint) + (volume[row] as bigint);
  high.values[day] = Math.max(high.values[day] as number, high.values[row] as number);
  low.values[day] = Math.min(low.values[day] as number, low.values[row] as number);
  close.values[day] = close.values[row] as number;
  amount.values[day] = (amount.values[day] as number) + (amount.values[row] as number);
  moveDouble(doubles.open_interest, row, day);
  moveDouble(doubles.settlement_price, row, day);
}

function moveRow({ timestamp, volume, doubles }: KlineValues, from: number, to: number): void {
  if (from === to) return;
  timestamp[to] = timestamp[from] as bigint;
  volume[to] = volume[from] as bigint;
  for (const name of DOUBLE_COLUMNS) moveDouble(doubles[name], from, to);
}

function moveDouble({ values, validity }: NumberColumn, from: number, to: number): void {
  // A column of nulls may have no values, and its bits may be those of others.
  if (values.length === 0) return;
  values[to] = values[from] as number;
  if (validity !== undefined) putBit(validity, to, isSet(validity, from));
}

/** The day of a region that contains an instant, local midnight to midnight. */
export type DayFinder = (timestamp: number, region: Region) => TimeRange;

/** Caches the day that was found last: a look-up of a zone is slow, and most symbols' bars are of one day. */
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
