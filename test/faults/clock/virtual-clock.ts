import type { Clock } from "../../../src/core/time.js";

/** A clock whose time advances only by sleeping; sleeping takes no real time. */
export interface VirtualClock extends Clock {
  readonly slept: readonly number[];
  advance(ms: number): void;
}

export function virtualClock(start: number | string): VirtualClock {
  let now = typeof start === "number" ? start : Date.parse(start);
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      now += ms;
    },
  };
}
