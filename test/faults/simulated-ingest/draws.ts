import { integer, mixText, uniform } from "../../../src/sim/random.js";

/** Random numbers, one after the other. */
export interface Draws {
  /** An integer from 0, below `end`. */
  below(end: number): number;
  fraction(): number;
  of<T>(choices: readonly T[]): T;
}

/** The random numbers of a seed for one purpose; other purposes have independent numbers. */
export function drawsOf(seed: number, purpose: string): Draws {
  const key = mixText(seed, purpose);
  let n = 0;
  return {
    below: (end) => integer(key, n++, end),
    fraction: () => uniform(key, n++),
    of: (choices) => choices[integer(key, n++, choices.length)] as (typeof choices)[number],
  };
}
