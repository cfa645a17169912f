import { UsageError } from "../../core/errors.js";
import { type Clock, MINUTE_MS, type TimeRange, ticksOf } from "../../core/time.js";

/** Decides what "now" is, and which rows of the lake are visible, for every endpoint and the stream. */
export interface AsOfTime {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The last visible instant (epoch milliseconds), a whole minute of replayed time; undefined: all is visible. */
  readonly visibleUntil: number | undefined;
}

/** Largest speed: a trading day of six hours then takes about two seconds. */
export const MAX_SPEED = 10_000;

/** The time of a replay, and how fast it advances. */
export interface ReplayState {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Replayed seconds for each real second; 0 stops the time. */
  readonly speed: number;
}

/** The clock of a replay. It starts at a time in the past, runs at a speed, and can be set. */
export class ReplayClock {
  readonly #real: Pick<Clock, "now" | "monotonic">;
  /** The times for which the lake has data. */
  readonly range: TimeRange;
  #from: ReplayState;
  #since: number;
  readonly #listeners = new Set<(isBack: boolean) => void>();

  /**
   * @param real the clock of real time. @param range the times that can be replayed. @throws {UsageError} for a time
   * outside the range, or a speed that is not possible.
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

  /** The as-of time. Only whole minutes become visible, since bars are labelled with the end of their minute. */
  asOf(): AsOfTime & { readonly visibleUntil: number } {
    const now = this.now();
    return { now, visibleUntil: Math.floor(now / MINUTE_MS) * MINUTE_MS };
  }

  /** Sets the time, the speed, or both. @throws {UsageError} as the constructor does; then nothing is changed. */
  set(change: Partial<ReplayState>): void {
    const next = { time: change.time ?? this.now(), speed: change.speed ?? this.#from.speed };
    // A replay that has run past the end of the lake may still change its speed.
    this.#check(change.time === undefined ? { ...next, time: this.range.start } : next);
    const isBack = change.time !== undefined && change.time < this.now();
    this.#from = next;
    this.#since = ticksOf(this.#real);
    for (const listener of this.#listeners) listener(isBack);
  }

  /** Real milliseconds until the next whole minute of the replayed time; infinity where the time is stopped. */
  untilNextMinute(): number {
    const { speed } = this.#from;
    if (speed === 0) return Number.POSITIVE_INFINITY;
    const now = this.now();
    return ((Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS - now) / speed;
  }

  /** Calls a function after each change of time or speed, until the returned function is called. */
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

/** An instant (epoch milliseconds) as a text: ISO 8601 in UTC. */
export function instantText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** Longest and shortest wait, in milliseconds. */
const LONGEST_MS = 1000;
const SHORTEST_MS = 10;

/** Waits until the replayed time passes the next whole minute, or is set, but at most a second of real time. */
export async function nextMinute(
  replay: ReplayClock,
  sleep: Clock["sleep"],
  signal: AbortSignal,
): Promise<void> {
  const set = new AbortController();
  const end = replay.onSet(() => set.abort());
  try {
    const wait = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(replay.untilNextMinute())));
    await sleep(wait, AbortSignal.any([signal, set.signal]));
  } catch (error) {
    if (signal.aborted || !set.signal.aborted) throw error;
  } finally {
    end();
  }
}
