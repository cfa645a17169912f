import { isPresent } from "../../core/bits.js";
import { MINUTE_MS, type TimeRange } from "../../core/time.js";
import { versionsOf } from "../../lake/by-version.js";
import type { Region } from "../../market/regions.js";
import { finalEnd, nextFinal } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import {
  inUnits,
  type LastBar,
  type QuoteBars,
  quoteBarsInShares,
  statedPrevCloses,
} from "../klines/quote-bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { type Minutes, type ReadLake, readMinutes } from "./read-lake.js";

/**
 * A period of replayed time in which a region's quotes change only by new minutes of the latest day: no day becomes
 * final, and no new day begins.
 */
export interface DaySegment {
  readonly versions: string;
  /** Identifies the period: two periods of a region with the same key are the same. */
  readonly key: string;
  /** The latest day with minutes if it is not final: its minutes then make a daily bar. Else undefined. */
  readonly runningDay: TimeRange | undefined;
  /** The first whole minute that may belong to another period, in epoch milliseconds; infinity where there is none. */
  readonly end: number;
}

export async function daySegment(view: LakeView, region: Region): Promise<DaySegment> {
  const until = view.version.visibleUntil ?? view.now;
  const [versions, days] = [await barVersions(view), await view.latestDays()];
  const final = finalEnd(region, until);
  const day = days.get(region);
  const end = Math.min(await view.nextDay(region), nextFinal(region, until));
  return {
    versions,
    key: `${versions} ${day?.start} ${final}`,
    runningDay: day !== undefined && day.start >= final ? day : undefined,
    end: Math.ceil(end / MINUTE_MS) * MINUTE_MS,
  };
}

async function barVersions({ version }: LakeView): Promise<string> {
  return versionsOf([await version.snapshot(BARS_1D), await version.snapshot(BARS_1M)]);
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The bars for a symbol's quote during a day. {@link addMinute} updates them. */
interface RunningBars {
  readonly symbol: string;
  readonly region: Region;
  /** The latest day of the region if it is not final: only then its minutes make a daily bar. */
  readonly runningDay: TimeRange | undefined;
  readonly statedPrevClose: number | null;
  daily: readonly LastBar[];
  /** The ended minutes of the latest day as one bar; its volume is in shares. */
  minutes: Mutable<LastBar> | undefined;
}

/** Adds the next minute of the latest day, by the rules of {@link BAR_AGGREGATES}. */
function addMinute(bars: RunningBars, { columns }: Minutes, row: number): void {
  const { timestamp, open, high, low, close, shares, amount, prev_close } = columns;
  const { minutes } = bars;
  if (minutes !== undefined) {
    minutes.timestamp = timestamp.values[row] as number;
    minutes.high = Math.max(minutes.high, high.values[row] as number);
    minutes.low = Math.min(minutes.low, low.values[row] as number);
    minutes.close = close.values[row] as number;
    minutes.volume += shares.values[row] as number;
    minutes.amount += amount.values[row] as number;
    return;
  }
  bars.minutes = {
    timestamp: timestamp.values[row] as number,
    open: open.values[row] as number,
    high: high.values[row] as number,
    low: low.values[row] as number,
    close: close.values[row] as number,
    volume: shares.values[row] as number,
    amount: amount.values[row] as number,
    prevClose: isPresent(prev_close.validity, row) ? (prev_close.values[row] as number) : null,
  };
  const { daily, minutes: first, runningDay, statedPrevClose } = bars;
  // The first minute of a day that is not final begins the bar of this day.
  if (runningDay === undefined) return;
  const forming = { ...first, timestamp: runningDay.start, prevClose: first.prevClose ?? statedPrevClose };
  bars.daily = [...daily.slice(-1), forming];
}

/** The bars in the form in which a request would read them from the lake. */
function quoteBarsOf({ daily, minutes, region }: RunningBars): QuoteBars {
  return { daily, minutes: minutes && inUnits(minutes, region) };
}

/** Minutes of some symbols that were read ahead of the replayed time. */
export class MinuteBlock {
  readonly #bars: readonly RunningBars[];
  readonly #minutes: Minutes;
  /** The first row that has not been added yet. */
  #next = 0;

  /** @param bars the bars to which the positions of the minutes refer. */
  constructor(bars: readonly RunningBars[], minutes: Minutes) {
    this.#bars = bars;
    this.#minutes = minutes;
  }

  /** Adds the minutes up to an instant (epoch milliseconds, inclusive) to the bars of their symbols. */
  addUntil(until: number): void {
    const { rows, columns } = this.#minutes;
    const [times, positions] = [columns.timestamp.values, columns.position.values];
    for (; this.#next < rows && (times[this.#next] as number) <= until; this.#next++)
      addMinute(this.#bars[positions[this.#next] as number] as RunningBars, this.#minutes, this.#next);
  }

  get isUsed(): boolean {
    return this.#next === this.#minutes.rows;
  }
}

/** Most minutes in a block, of all symbols together, about 20 MB. At most two blocks are in memory. */
const BLOCK_ROWS = 300_000;
/** The shortest and longest block, in minutes. With few symbols a block is a whole day. */
const LONGEST_BLOCK = 24 * 60;
const SHORTEST_BLOCK = 5;

/**
 * The bars for the quotes of some symbols of a region during one {@link DaySegment}: read once, then updated with
 * minutes that are read in blocks, ahead of the replayed time.
 */
export class RunningDay {
  readonly segment: DaySegment;
  readonly #readLake: ReadLake;
  readonly #onFault: (error: unknown) => void;
  readonly #ending = new AbortController();
  readonly #bars = new Map<string, RunningBars>();
  readonly #blocks = new Set<MinuteBlock>();
  #at: number;
  /** The blocks contain the minutes up to this instant, except those of recently added symbols (`#uncovered`). */
  #coveredUntil: number;
  #uncovered = new Set<RunningBars>();
  #filling: Promise<void> | undefined;

  /** @param at the as-of time, epoch milliseconds: a whole minute. */
  constructor(segment: DaySegment, at: number, readLake: ReadLake, onFault: (error: unknown) => void) {
    this.segment = segment;
    this.#at = at;
    this.#coveredUntil = at;
    this.#readLake = readLake;
    this.#onFault = onFault;
  }

  get symbols(): Iterable<string> {
    return this.#bars.keys();
  }

  barsOf(symbol: string): QuoteBars {
    const bars = this.#bars.get(symbol);
    return bars === undefined ? { daily: [], minutes: undefined } : quoteBarsOf(bars);
  }

  /** Reads the bars of those symbols that it does not have yet. @param view must have the as-of time of the bars. */
  async add(view: LakeView, symbols: readonly string[]): Promise<void> {
    const added = symbols.filter((symbol) => !this.#bars.has(symbol));
    if (added.length === 0) return;
    const barsAt = await quoteBarsInShares(view, added);
    const { runningDay } = this.segment;
    const stated = await statedPrevCloses(view, added, runningDay);
    for (const [index, symbol] of added.entries()) {
      const region = regionOf(symbol);
      if (region === undefined) continue;
      const bars = {
        ...barsAt(index),
        symbol,
        region,
        runningDay,
        statedPrevClose: stated.get(symbol) ?? null,
      };
      this.#bars.set(symbol, bars);
      this.#uncovered.add(bars);
    }
  }

  forget(symbol: string): void {
    const bars = this.#bars.get(symbol);
    if (bars === undefined) return;
    this.#bars.delete(symbol);
    this.#uncovered.delete(bars);
  }

  /** Updates the bars to a later time of the period; false where it is earlier, or its minutes were not read. */
  async advance(until: number): Promise<boolean> {
    if (until < this.#at || until >= this.segment.end) return until === this.#at;
    // The running read does not reach a time that is more than a block later, so it is not awaited for such a time.
    if (!this.#covers(until) && until <= this.#coveredUntil + this.#blockMs) await this.#filling;
    if (!this.#covers(until)) return false;
    for (const block of this.#blocks) {
      block.addUntil(until);
      if (block.isUsed) this.#blocks.delete(block);
    }
    this.#at = until;
    return true;
  }

  #covers(until: number): boolean {
    return until === this.#at || (until <= this.#coveredUntil && this.#uncovered.size === 0);
  }

  readAhead(): void {
    this.#filling ??= this.#fill()
      .catch((error: unknown) => {
        if (!this.#ending.signal.aborted) this.#onFault(error);
      })
      .finally(() => {
        this.#filling = undefined;
      });
  }

  close(): void {
    this.#ending.abort();
  }

  /** Reads blocks until enough minutes are ahead, or the lake has other versions: another day then begins. */
  async #fill(): Promise<void> {
    while (this.#bars.size > 0 && !this.#ending.signal.aborted) {
      if (this.#uncovered.size > 0 && this.#coveredUntil > this.#at) {
        // The bars are not advanced while minutes are missing: see `advance`.
        const bars = [...this.#uncovered];
        if (!(await this.#load(bars, this.#at, this.#coveredUntil))) return;
        for (const one of bars) this.#uncovered.delete(one);
        continue;
      }
      const last = this.segment.end - MINUTE_MS;
      const isFarAhead = this.#coveredUntil - this.#at > this.#blockMs / 2;
      if (this.#coveredUntil >= last || isFarAhead) return;
      const bars = [...this.#bars.values()];
      for (const one of bars) this.#uncovered.delete(one);
      const until = Math.min(last, this.#coveredUntil + this.#blockMs);
      if (!(await this.#load(bars, this.#coveredUntil, until))) return;
      this.#coveredUntil = until;
    }
  }

  get #blockMs(): number {
    const minutes = Math.floor(BLOCK_ROWS / Math.max(1, this.#bars.size));
    return Math.min(LONGEST_BLOCK, Math.max(SHORTEST_BLOCK, minutes)) * MINUTE_MS;
  }

  /** Reads the minutes after one instant, up to another, inclusive; false where the lake has other versions now. */
  async #load(bars: readonly RunningBars[], after: number, until: number): Promise<boolean> {
    const { signal } = this.#ending;
    return this.#readLake(
      async (view) => {
        if ((await barVersions(view)) !== this.segment.versions) return false;
        const symbols = bars.map(({ symbol }) => symbol);
        const minutes = await readMinutes(view, symbols, { start: after + 1, end: until + 1 });
        this.#blocks.add(new MinuteBlock(bars, minutes));
        return true;
      },
      { asOf: { now: until, visibleUntil: until }, signal },
    );
  }
}
