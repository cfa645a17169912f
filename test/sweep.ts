import { IS_REPEAT } from "./once.js";

/**
 * The size of a long sweep in a run. `npm test` takes few of its cases, `npm run test:all` more, and
 * `npm run test:soak` all of them; vitest.config.ts says which by TEST_SWEEP.
 */
export type Sweep = "few" | "more" | "all";

export const SWEEP = (process.env.TEST_SWEEP ?? "few") as Sweep;

/** Numbers of cases, by the size of the sweep. Without `more`, the long tests leave it to `npm test` and to a soak. */
export interface Counts {
  readonly few: number;
  readonly more?: number;
  readonly all: number;
}

/** The number of cases for this run. */
export function cases({ few, more = few, all }: Counts, sweep: Sweep = SWEEP): number {
  return { few, more, all }[sweep];
}

/**
 * Picks cases of a sweep: the pinned ones, because they reach rare outcomes, and others that change with every
 * commit. The same commit gives the same cases. By `Counts`, the long tests do not pick again what `npm test` has
 * picked, so they may pick nothing.
 *
 * @param total cases of the whole sweep; they are numbered from 0.
 * @param count cases to pick, including the pinned ones; all if it is not below `total`.
 * @returns distinct numbers below `total`, ascending.
 */
export function pickCases(
  total: number,
  count: number | Counts,
  pinned: readonly number[] = [],
  sweep: Sweep = SWEEP,
): number[] {
  if (typeof count === "number") return picked(total, count, pinned);
  const wanted = picked(total, cases(count, sweep), pinned);
  if (sweep !== "more" || !IS_REPEAT) return wanted;
  const done = new Set(picked(total, count.few, pinned));
  return wanted.filter((n) => !done.has(n));
}

function picked(total: number, count: number, pinned: readonly number[]): number[] {
  const found = new Set(count < total ? pinned : Array.from({ length: total }, (_, n) => n));
  const commit = Number.parseInt((process.env.TEST_COMMIT ?? "0").slice(0, 8), 16);
  // A step that has no common divisor with the total visits every number once.
  const step = stepOf(total);
  for (let n = commit % total; found.size < Math.min(count, total); n = (n + step) % total) found.add(n);
  return [...found].sort((a, b) => a - b);
}

/** Picks some of a list, in its order, as {@link pickCases} does. */
export function pickFrom<T>(list: readonly T[], count: number | Counts, pinned: readonly number[] = []): T[] {
  return pickCases(list.length, count, pinned).map((n) => list[n] as T);
}

function stepOf(total: number): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let step = Math.max(1, Math.floor(total * 0.618));
  while (divisor(step, total) > 1) step++;
  return step;
}
