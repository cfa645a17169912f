import { UsageError } from "../../core/errors.js";
import { type Clock, MINUTE_MS, type TimeRange, ticksOf } from "../../core/time.js";
import type { AsOfTime } from "./as-of-time.js";

/** Largest speed: a trading day of six hours in about two seconds. */
export const MAX_SPEED = 10_000;

/** What a replay shows, and how fast it moves. */
export interface ReplayState {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Replayed seconds for each second; 0 stops the time. */
  readonly speed: number;
}

/** The clock of a replay: starts at a time of the past, runs at a speed, and can be set. */
export class ReplayClock {
  readonly #real: Pick<Clock, "now" | "monotonic">;
  /** The times that the lake has data of. */
  readonly range: TimeRange;
  #from: ReplayState;
  #since: number;
  readonly #listeners = new Set<(isBack: boolean) => void>();

  /**
   * @param real the clock that runs; the replayed one runs `speed` times as fast.
   * @param range the times that can be replayed.
   * @throws {UsageError} for a time outside of the range, or a speed that is not possible.
   */
  constructor(real: Pick<Clock, "now" | "monotonic">, range: TimeRange, start: ReplayState) {
    this.#real = real;
    this.range = range;
    this.#check(start);
    this.#from = start;
    this.#since = ticksOf(real);
  }

  /** The replayed time, epoch milliseconds. */
  now(): number {
    const { time, speed } = this.#from;
    return Math.floor(time + (ticksOf(this.#real) - this.#since) * speed);
  }

  get state(): ReplayState {
    return { time: this.now(), speed: this.#from.speed };
  }

  /** What is visible now: whole minutes, since bars are labelled with the end of their minute. */
  asOf(): AsOfTime & { readonly visibleUntil: number } {
    const now = this.now();
    return { now, visibleUntil: Math.floor(now / MINUTE_MS) * MINUTE_MS };
  }

  /** Sets the time, the speed, or both. @throws {UsageError} as the constructor does; nothing is set then. */
  set(change: Partial<ReplayState>): void {
    const next = { time: change.time ?? this.now(), speed: change.speed ?? this.#from.speed };
    // A replay that runs past the end of the lake may still change its speed.
    this.#check(change.time === undefined ? { ...next, time: this.range.start } : next);
    const isBack = change.time !== undefined && change.time < this.now();
    this.#from = next;
    this.#since = ticksOf(this.#real);
    for (const listener of this.#listeners) listener(isBack);
  }

  /** Real milliseconds until the next whole minute of the replayed time; infinite where the time is stopped. */
  untilNextMinute(): number {
    const { speed } = this.#from;
    if (speed === 0) return Number.POSITIVE_INFINITY;
    const now = this.now();
    return ((Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS - now) / speed;
  }

  /**
   * Calls a function after each change of time or speed, with whether the time is an earlier one now.
   *
   * @returns a function that ends it.
   */
  onSet(listener: (isBack: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #check({ time, speed }: ReplayState): void {
    if (!Number.isFinite(speed) || speed < 0 || speed > MAX_SPEED)
      throw new UsageError(`speed ${speed} is not from 0 to ${MAX_SPEED}`);
    const { start, end } = this.range;
    if (!(time >= start && time < end))
      throw new UsageError(
        `time ${instantText(time)} is not in the lake, whose bars are from ${instantText(start)} to ${instantText(end)}`,
      );
  }
}

/** An instant as text: ISO 8601 in UTC. */
export function instantText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
