import { copyBits, isPresent } from "../../../core/bits.js";
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
  if (minutes.end === minutes.start) return run;
  const region = regionOf(run.symbol) as Region;
  const rows = run.end - run.start;
  const days = Array.from({ length: rows }, (_, row) => dayAt(run, run.start + row));
  const last = days.at(-1);
  if (last !== undefined && Number(minutes.values.timestamp[minutes.start]) <= last.timestamp)
    return undefined;
  let range: TimeRange | undefined = last && dayOf(last.timestamp, region);
  for (let row = minutes.start; row < minutes.end; row++) {
    const minute = dayAt(minutes, row);
    const stated = { ...minute, ...statedPrices(minute) };
    if (range !== undefined && minute.timestamp < range.end) {
      addMinute(days.at(-1) as Day, stated);
      continue;
    }
    range = dayOf(minute.timestamp, region);
    days.push(stated);
  }
  return runOfDays(run.symbol, days);
}

type Doubles = Record<(typeof DOUBLE_COLUMNS)[number], number | null>;

interface Day extends Doubles {
  timestamp: number;
  volume: bigint;
}

function dayAt({ values }: BarRun, row: number): Day {
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => {
      const { values: all, validity } = values.doubles[name];
      return [name, all.length > 0 && isPresent(validity, row) ? (all[row] as number) : null];
    }),
  ) as Doubles;
  return {
    ...doubles,
    timestamp: Number(values.timestamp[row]),
    volume: values.volume[row] as bigint,
  };
}

/** Some feeds set these prices to 0 in a bar without trades: see `statedPriceSql`. */
function statedPrices({ open, high, low, close }: Day): Pick<Day, "open" | "high" | "low"> {
  const stated = (price: number | null): number | null => (price === 0 ? close : price);
  return { open: stated(open), high: stated(high), low: stated(low) };
}

function addMinute(day: Day, minute: Day): void {
  day.timestamp = minute.timestamp;
  day.high = Math.max(day.high as number, minute.high as number);
  day.low = Math.min(day.low as number, minute.low as number);
  day.close = minute.close;
  day.volume += minute.volume;
  day.amount = (day.amount as number) + (minute.amount as number);
  day.open_interest = minute.open_interest;
  day.settlement_price = minute.settlement_price;
}

/** The day of a region that contains an instant, local midnight to midnight. */
export type DayFinder = (timestamp: number, region: Region) => TimeRange;

/** Remembers the day that was found last: to look up a zone takes long, and most symbols' bars are of one day. */
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

function runOfDays(symbol: string, days: readonly Day[]): BarRun {
  const column = (name: (typeof DOUBLE_COLUMNS)[number]): NumberColumn => {
    const values = Float64Array.from(days, (day) => day[name] ?? 0);
    if (days.every((day) => day[name] !== null)) return { values, validity: undefined };
    const validity = new Uint8Array(Math.ceil(days.length / 8));
    for (const [row, day] of days.entries())
      if (day[name] !== null) validity[row >> 3] = (validity[row >> 3] as number) | (1 << (row & 7));
    return { values, validity };
  };
  return {
    symbol,
    values: {
      timestamp: BigInt64Array.from(days, ({ timestamp }) => BigInt(timestamp)),
      volume: BigInt64Array.from(days, ({ volume }) => volume),
      doubles: eachDouble(column),
    },
    start: 0,
    end: days.length,
    found: days.length,
  };
}
