import { isPresent } from "../../core/bits.js";
import type { TimeRange } from "../../core/time.js";
import { nearUnitsOf, type Region } from "../../market/regions.js";
import { possibleEnds } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import type { KlineRun, KlineValues } from "../../wire/kline-columns.js";
import type { LakeView } from "../read/lake-reader.js";
import { readKlines } from "./read-klines.js";
import { ALL_TIME, lotOf, MINUTES_OF_A_DAY, seriesOf } from "./requested-bars.js";

/** One bar as an object, for the few bars that a quote needs. */
export interface LastBar {
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** In the unit of the run. */
  readonly volume: number;
  /** In the currency of the symbol. */
  readonly amount: number;
  /** Null where it is not known. */
  readonly prevClose: number | null;
}

/** The bars of a run, ascending. Volumes above 2^53 are rounded to a double. */
function barsOf({ values, start, end }: KlineRun): LastBar[] {
  const bars: LastBar[] = [];
  for (let row = start; row < end; row++) bars.push(barOf(values, row));
  return bars;
}

function barOf({ timestamp, volume, doubles }: KlineValues, row: number): LastBar {
  const { values, validity } = doubles.prev_close;
  return {
    timestamp: Number(timestamp[row]),
    open: doubles.open.values[row] as number,
    high: doubles.high.values[row] as number,
    low: doubles.low.values[row] as number,
    close: doubles.close.values[row] as number,
    volume: Number(volume[row]),
    amount: doubles.amount.values[row] as number,
    prevClose: isPresent(validity, row) ? (values[row] as number) : null,
  };
}

export interface QuoteBars {
  /** The newest two daily bars, ascending. */
  readonly daily: readonly LastBar[];
  /** The minutes of the region's latest day as one bar; undefined where the newest daily bar is of a later day. */
  readonly minutes: LastBar | undefined;
}

type QuoteBarsAt = (index: number) => QuoteBars;

export type ReadQuoteBars = (view: LakeView, symbols: readonly string[]) => Promise<QuoteBarsAt>;

export const readQuoteBars: ReadQuoteBars = async (view, symbols) => {
  const inShares = await quoteBarsInShares(view, symbols);
  return (index) => {
    const { daily, minutes } = inShares(index);
    return { daily, minutes: minutes && inUnits(minutes, regionOf(symbols[index] as string)) };
  };
};

/** As {@link readQuoteBars}, but the volume of the minutes is in shares, so that further minutes can be added to it. */
export const quoteBarsInShares: ReadQuoteBars = async (view, symbols) => {
  const daily = await lastDailyBars(view, symbols);
  const minutes = await lastMinuteDays(view, symbols, daily);
  return (index) => ({ daily: barsOfRun(daily[index]), minutes: barsOfRun(minutes[index])[0] });
};

/** Converts the volume of a bar from shares to units of its region, rounded half up. */
export function inUnits(bar: LastBar, region: Region | undefined): LastBar {
  const unit = region === undefined ? 1 : lotOf(region);
  return { ...bar, volume: nearUnitsOf(bar.volume, unit) };
}

/** A run of each symbol, in the symbols' order. */
type Runs = readonly (KlineRun | undefined)[];

function barsOfRun(run: KlineRun | undefined): LastBar[] {
  return run === undefined ? [] : barsOf(run);
}

/** All symbols count as known, so that each has a run. */
const isKnown = (): boolean => true;

async function lastDailyBars(view: LakeView, symbols: readonly string[]): Promise<Runs> {
  const ask = (of: readonly string[], rangeOf: (region: Region) => TimeRange): Promise<KlineRun[]> =>
    readKlines(view, { symbols: of, series: seriesOf("1d"), adjustment: "none", count: 2, rangeOf, isKnown });
  const runs = await ask(symbols, () => ALL_TIME);
  // Bars of the future are so rare that they are looked for afterwards: all of time is what is cached.
  const ends = possibleEnds(view.now, false);
  const isFuture = runs.map(({ symbol, values, start, end }) => {
    const region = regionOf(symbol);
    return region !== undefined && start < end && Number(values.timestamp[end - 1]) >= ends[region];
  });
  if (!isFuture.includes(true)) return runs;
  const before = await ask(
    runs.flatMap(({ symbol }, index) => (isFuture[index] ? [symbol] : [])),
    (region) => ({ start: ALL_TIME.start, end: ends[region] }),
  );
  const next = before.values();
  return runs.map((run, index) => (isFuture[index] ? next.next().value : run));
}

async function lastMinuteDays(view: LakeView, symbols: readonly string[], daily: Runs): Promise<Runs> {
  const days = await view.latestDays();
  const rangeOf = (region: Region): TimeRange => days.get(region) ?? NO_TIME;
  const outdated = symbols.map((symbol, index) => {
    const region = regionOf(symbol);
    if (region === undefined) return false;
    const run = daily[index];
    if (run === undefined || run.start === run.end) return true;
    return Number(run.values.timestamp[run.end - 1]) < rangeOf(region).end;
  });
  const runs = await readKlines(view, {
    symbols: symbols.filter((_, index) => outdated[index]),
    series: MINUTES_OF_A_DAY,
    adjustment: "none",
    count: 1,
    rangeOf,
    isKnown,
    unitOf: () => 1,
  });
  const next = runs.values();
  return outdated.map((isOutdated) => (isOutdated ? next.next().value : undefined));
}

const NO_TIME: TimeRange = { start: 0, end: 0 };

/**
 * The previous closes that the landed daily bars of a day state. Exchanges publish them before the day begins, so they
 * are known during the day, although its bar is not.
 *
 * @param day the day, in the region of all symbols; undefined where nothing is requested.
 */
export async function statedPrevCloses(
  view: LakeView,
  symbols: readonly string[],
  day: TimeRange | undefined,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  if (day === undefined) return found;
  const runs = await readKlines(
    { ...view, version: view.version.whole },
    {
      symbols,
      series: seriesOf("1d"),
      adjustment: "none",
      count: 1,
      rangeOf: () => day,
      isKnown,
    },
  );
  for (const run of runs) {
    const stated = barsOf(run)[0]?.prevClose;
    if (typeof stated === "number") found.set(run.symbol, stated);
  }
  return found;
}
