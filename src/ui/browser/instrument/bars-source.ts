import { tableFromIPC } from "@uwdata/flechette";
import { ADJUSTMENTS, type Adjustment, basePeriod, PERIODS, type Period } from "../../../market/period.js";
import { apiAddress, ask } from "../fetch-data.js";

/** In the order of time, in seconds of the exchange's local time; for days, of midnight of the date. */
export interface Bars {
  readonly time: Float64Array;
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly shares: Float64Array;
  readonly amount: Float64Array;
  readonly prevClose: readonly (number | null)[];
  readonly isFinal: readonly boolean[];
  /** First date of the range that was read; undefined where everything was read. */
  readonly from: string | undefined;
  readonly hasEarlier: boolean;
}

export interface BarsKey {
  readonly state: string;
  readonly symbol: string;
  readonly period: Period;
  readonly adjust: Adjustment;
  /** The date after the last requested date. @default everything up to now */
  readonly to?: string | undefined;
}

/** Most series that are cached, so that switching between periods sends no request. */
const MOST_CACHED = 48;
/** Nothing more is loaded ahead after a request that took this time in milliseconds. */
const SLOW_MS = 200;
const cache = new Map<string, Bars>();
const ahead = new Map<string, Promise<Bars>>();

/** The newest bars of a key; cached bars if they were loaded before. @throws {Fault} */
export async function loadBars(key: BarsKey, signal: AbortSignal): Promise<Bars> {
  const name = JSON.stringify(key);
  const bars = cache.get(name) ?? (await (ahead.get(name) ?? fetchBars(key, key.to, signal)));
  signal.throwIfAborted();
  addToCache(name, bars);
  return bars;
}

/** The given bars, preceded by the bars of the window before them. @throws {Fault} */
export async function loadEarlier(key: BarsKey, bars: Bars, signal: AbortSignal): Promise<Bars> {
  const all = joined(await fetchBars(key, bars.from, signal), bars);
  addToCache(JSON.stringify(key), all);
  return all;
}

/** Most windows of bars that are read to reach an earlier time. */
const MOST_WINDOWS = 30;

/** Bars that reach back far enough: until `isEnough`, or there are none, or {@link MOST_WINDOWS} are read. @throws {Fault} */
export async function loadReaching(
  key: BarsKey,
  isEnough: (bars: Bars) => boolean,
  signal: AbortSignal,
): Promise<Bars> {
  let bars = await loadBars(key, signal);
  for (let windows = 0; windows < MOST_WINDOWS && bars.hasEarlier && !isEnough(bars); windows++)
    bars = await loadEarlier(key, bars, signal);
  return bars;
}

/**
 * Loads the other periods and adjustments of a chart of days, one after another, so that switching to them
 * waits for no request. It ends where the lake is slow. @param signal ends it after the current request.
 * @throws {Fault}
 */
export async function loadAhead(key: BarsKey, signal: AbortSignal): Promise<void> {
  const isOfDays = (period: Period): boolean => basePeriod(period) === "1d";
  if (!isOfDays(key.period)) return;
  const next = [
    ...PERIODS.filter(isOfDays).map((period) => ({ ...key, period })),
    ...ADJUSTMENTS.map((adjust) => ({ ...key, adjust })),
  ];
  for (const one of next) {
    const name = JSON.stringify(one);
    if (cache.has(name) || ahead.has(name)) continue;
    const began = performance.now();
    const request = fetchBars(one, one.to, new AbortController().signal);
    ahead.set(name, request);
    try {
      addToCache(name, await request);
    } finally {
      ahead.delete(name);
    }
    if (signal.aborted || performance.now() - began > SLOW_MS) return;
  }
}

function addToCache(name: string, bars: Bars): void {
  cache.delete(name);
  cache.set(name, bars);
  for (const old of [...cache.keys()].slice(0, -MOST_CACHED)) cache.delete(old);
}

async function fetchBars(key: BarsKey, to: string | undefined, signal: AbortSignal): Promise<Bars> {
  const response = await ask(apiAddress("bars", { ...key, to }), signal);
  const table = tableFromIPC(await response.arrayBuffer(), { useDate: false });
  const numbers = (name: string): Float64Array => {
    const values = table.getChild(name).toArray() as ArrayLike<number | null>;
    return values instanceof Float64Array
      ? values
      : Float64Array.from(values, (value) => value ?? Number.NaN);
  };
  const { headers } = response;
  return {
    time: numbers("time"),
    open: numbers("open"),
    high: numbers("high"),
    low: numbers("low"),
    close: numbers("close"),
    shares: numbers("shares"),
    amount: numbers("amount"),
    prevClose: Array.from(table.getChild("prev_close").toArray() as Iterable<number | null>),
    isFinal: Array.from(table.getChild("is_final").toArray() as Iterable<boolean>),
    from: headers.get("x-bars-from") || undefined,
    hasEarlier: headers.get("x-bars-earlier") === "true",
  };
}

function joined(before: Bars, after: Bars): Bars {
  const both = (of: (bars: Bars) => Float64Array): Float64Array => {
    const [first, second] = [of(before), of(after)];
    const all = new Float64Array(first.length + second.length);
    all.set(first);
    all.set(second, first.length);
    return all;
  };
  return {
    time: both((bars) => bars.time),
    open: both((bars) => bars.open),
    high: both((bars) => bars.high),
    low: both((bars) => bars.low),
    close: both((bars) => bars.close),
    shares: both((bars) => bars.shares),
    amount: both((bars) => bars.amount),
    prevClose: [...before.prevClose, ...after.prevClose],
    isFinal: [...before.isFinal, ...after.isFinal],
    from: before.from,
    hasEarlier: before.hasEarlier,
  };
}
