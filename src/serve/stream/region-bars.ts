import { groupBy } from "../../core/group-by.js";
import { MINUTE_MS } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import type { QuoteBars, ReadQuoteBars } from "../klines/quote-bars.js";
import type { ReadLake } from "./read-lake.js";
import { type DaySegment, daySegment, RunningDay } from "./running-day.js";

/** How long before the next period its bars are read, in milliseconds of replayed time. */
const LEAD_MS = 60 * MINUTE_MS;

/** The bars of a period that has not begun yet. */
interface Coming {
  readonly start: number;
  /** Undefined where the bars could not be read. */
  day: Promise<RunningDay | undefined>;
  readonly symbols: Set<string>;
  readonly ending: AbortController;
}

/** The bars for the quotes of a region in a replay: of the current {@link DaySegment}, and of the next one. */
export class RegionBars {
  readonly #region: Region;
  readonly #readLake: ReadLake;
  readonly #onFault: (error: unknown) => void;
  #day: RunningDay | undefined;
  #coming: Coming | undefined;

  constructor(region: Region, readLake: ReadLake, onFault: (error: unknown) => void) {
    this.#region = region;
    this.#readLake = readLake;
    this.#onFault = onFault;
  }

  read: ReadQuoteBars = async (view, symbols) => {
    const until = view.version.visibleUntil ?? view.now;
    const day = await this.#dayAt(await daySegment(view, this.#region), until);
    await day.add(view, symbols);
    day.readAhead();
    this.#prepare(day, until);
    return (index) => day.barsOf(symbols[index] as string);
  };

  forget(symbol: string): void {
    this.#day?.forget(symbol);
    const coming = this.#coming;
    if (coming?.symbols.delete(symbol) === true) void coming.day.then((day) => day?.forget(symbol));
  }

  clear(): void {
    this.#day?.close();
    this.#day = undefined;
    this.#dropComing();
  }

  async #dayAt(segment: DaySegment, until: number): Promise<RunningDay> {
    const known = this.#day;
    if (known?.segment.key === segment.key && (await known.advance(until))) return known;
    known?.close();
    const coming = this.#coming;
    // If the replay was set to a much later time, the bars of the coming period are not awaited.
    const isNear = coming !== undefined && until >= coming.start && until < coming.start + LEAD_MS;
    const next = isNear ? await coming.day : undefined;
    if (next?.segment.key === segment.key && (await next.advance(until))) {
      this.#coming = undefined;
      this.#day = next;
      return next;
    }
    this.#dropComing();
    this.#day = new RunningDay(segment, until, this.#readLake, this.#onFault);
    return this.#day;
  }

  /** Reads the bars of the next period when it is near. */
  #prepare({ segment: { end: start }, symbols }: RunningDay, until: number): void {
    if (this.#coming?.start !== start) this.#dropComing();
    if (start - until > LEAD_MS) return;
    const ending = this.#coming?.ending ?? new AbortController();
    this.#coming ??= { start, day: Promise.resolve(undefined), symbols: new Set(), ending };
    const coming = this.#coming;
    const added = [...symbols].filter((symbol) => !coming.symbols.has(symbol));
    if (added.length === 0) return;
    for (const symbol of added) coming.symbols.add(symbol);
    coming.day = coming.day.then((day) => this.#read(day, added, coming));
  }

  /** Adds symbols to a coming day, which is created if there is none. */
  async #read(
    known: RunningDay | undefined,
    symbols: readonly string[],
    { start, ending: { signal } }: Coming,
  ): Promise<RunningDay | undefined> {
    try {
      return await this.#readLake(
        async (view) => {
          const segment = await daySegment(view, this.#region);
          const day = known ?? new RunningDay(segment, start, this.#readLake, this.#onFault);
          // If the day belongs to another version of the lake, it would not be used.
          if (day.segment.key !== segment.key) return day;
          await day.add(view, symbols);
          day.readAhead();
          return day;
        },
        { asOf: { now: start, visibleUntil: start }, signal },
      );
    } catch (error) {
      if (!signal.aborted) this.#onFault(error);
      return undefined;
    }
  }

  #dropComing(): void {
    const { day, ending } = this.#coming ?? {};
    this.#coming = undefined;
    ending?.abort();
    void day?.then((one) => one?.close());
  }
}

const NO_BARS: QuoteBars = { daily: [], minutes: undefined };

/**
 * The bars for quotes in a replay, in memory and updated minute by minute. Queries are only needed when the replay is
 * set to another time, or runs faster than minutes can be read. Only one call may run at a time.
 */
export class ReplayedBars {
  readonly #readLake: ReadLake;
  readonly #onFault: (error: unknown) => void;
  readonly #regions = new Map<Region, RegionBars>();

  /** @param onFault called with the errors of reads ahead of the replayed time. */
  constructor(readLake: ReadLake, onFault: (error: unknown) => void) {
    this.#readLake = readLake;
    this.#onFault = onFault;
  }

  read: ReadQuoteBars = async (view, symbols) => {
    const groups = groupBy(symbols.keys(), (index) => regionOf(symbols[index] as string));
    const found: QuoteBars[] = symbols.map(() => NO_BARS);
    for (const [region, own] of groups) {
      if (region === undefined) continue;
      const barsAt = await this.#of(region).read(
        view,
        own.map((index) => symbols[index] as string),
      );
      for (const [at, index] of own.entries()) found[index] = barsAt(at);
    }
    return (index) => found[index] ?? NO_BARS;
  };

  forget(symbol: string): void {
    const region = regionOf(symbol);
    if (region !== undefined) this.#regions.get(region)?.forget(symbol);
  }

  clear(): void {
    for (const bars of this.#regions.values()) bars.clear();
    this.#regions.clear();
  }

  #of(region: Region): RegionBars {
    const known = this.#regions.get(region);
    if (known !== undefined) return known;
    const bars = new RegionBars(region, this.#readLake, this.#onFault);
    this.#regions.set(region, bars);
    return bars;
  }
}
