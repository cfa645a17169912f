import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../../src/core/time.js";

/**
 * A clock of discrete events: time does not pass while anything works, and then jumps to the next sleeper that is due.
 * One sleeper is woken at a time; sleepers with the same time are woken in the order in which they began to sleep.
 *
 * Work that the event loop cannot see (a request on a socket, a query in a thread) must be declared with
 * {@link EventClock.hold}; {@link holdRequests} does this for HTTP requests.
 */
export interface EventClock extends Clock {
  /** time does not pass until the returned function is called; calling it again does nothing. */
  hold(): () => void;
  /** Sleeps on behalf of a request that is on hold: one hold does not count until then. @throws the signal's reason on abort. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
  /** Number of sleepers. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Quiet turns of the event loop after which nothing works; chains of promises and socket events are shorter. */
const QUIET_TURNS = 4;

export function eventClock(start: number | string): EventClock {
  let now = typeof start === "number" ? start : Date.parse(start);
  let isWatching = false;
  /** The number of holds, and of calls to the clock so far. */
  const stir = { holds: 0, sounds: 0 };
  const sleepers: Sleeper[] = [];

  /** Wakes one sleeper after the other while nothing works. A call to the clock restarts the count of quiet turns. */
  const watch = async (): Promise<void> => {
    if (isWatching) return;
    isWatching = true;
    while (sleepers.length > 0 && stir.holds <= 0) {
      const heard = stir.sounds;
      for (let quiet = 0; quiet < QUIET_TURNS && heard === stir.sounds; quiet++) await turn();
      if (heard !== stir.sounds) continue;
      const next = sleepers.shift();
      if (next === undefined) break;
      now = Math.max(now, next.at);
      next.wake();
    }
    isWatching = false;
  };
  const sound = (): void => {
    stir.sounds++;
    void watch();
  };
  const hold = (): (() => void) => {
    let isOnHold = true;
    stir.holds++;
    sound();
    return () => {
      if (!isOnHold) return;
      isOnHold = false;
      stir.holds--;
      sound();
    };
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const leave = (): void => {
        sleepers.splice(sleepers.indexOf(sleeper), 1);
        sound();
        reject(signal?.reason as Error);
      };
      const wake = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const sleeper = { at: now + Math.max(0, ms), wake };
      const after = sleepers.findIndex((other) => other.at > sleeper.at);
      sleepers.splice(after < 0 ? sleepers.length : after, 0, sleeper);
      signal?.addEventListener("abort", leave, { once: true });
      sound();
    });
  return {
    now: () => now,
    sleep,
    hold,
    async delay(ms, signal) {
      stir.holds--;
      try {
        await sleep(ms, signal);
      } finally {
        // The sound ends a count of quiet turns that began before: the next sleeper must not be woken during the hold.
        stir.holds++;
        sound();
      }
    },
    get sleepers() {
      return sleepers.length;
    },
  };
}

/**
 * Holds a clock while a request of undici is in flight in this process: from its start until its response is complete,
 * has failed or was aborted. A service that takes its time must use {@link EventClock.delay}.
 *
 * @returns a function that ends it.
 */
export function holdRequests(clock: EventClock): () => void {
  const holds = new Map<unknown, () => void>();
  const onCreate = (message: unknown): void => void holds.set(requestOf(message), clock.hold());
  const onEnd = (message: unknown): void => {
    holds.get(requestOf(message))?.();
    holds.delete(requestOf(message));
  };
  subscribe("undici:request:create", onCreate);
  for (const end of ENDS) subscribe(end, onEnd);
  return () => {
    unsubscribe("undici:request:create", onCreate);
    for (const end of ENDS) unsubscribe(end, onEnd);
    for (const release of holds.values()) release();
  };
}

const ENDS = ["undici:request:trailers", "undici:request:error"];

function requestOf(message: unknown): unknown {
  return (message as { readonly request: unknown }).request;
}
