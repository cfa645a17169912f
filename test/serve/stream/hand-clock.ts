import type { Clock } from "../../../src/core/time.js";

/** A clock that moves only when a test moves it; sleepers wake when their time has come. */
export interface HandClock extends Clock {
  advance(ms: number): void;
  /** Resolves when someone sleeps. */
  sleeper(): Promise<void>;
}

export function handClock(start: number): HandClock {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  const watchers: (() => void)[] = [];
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason as Error);
        const abort = (): void => {
          if (sleepers.delete(sleeper)) reject(signal?.reason as Error);
        };
        const wake = (): void => {
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        const sleeper = { at: now + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", abort, { once: true });
        for (const watcher of watchers.splice(0)) watcher();
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of sleepers) {
        if (sleeper.at > now) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
    sleeper: () => (sleepers.size > 0 ? Promise.resolve() : new Promise((resolve) => watchers.push(resolve))),
  };
}
