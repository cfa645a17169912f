import { lowerBound } from "../../../core/lower-bound.js";

/**
 * Runs of equal values of one column: `values[k]` is in the rows from `ends[k - 1]` to `ends[k]`, exclusive. A column
 * that is null in a row is null in all.
 */
export interface Runs {
  readonly values: readonly (string | number | null)[];
  /** Ascending; the last one is the number of rows. */
  readonly ends: readonly number[];
}

/** Collects runs; values that follow an equal one make its run longer. */
export class RunBuilder implements Runs {
  readonly values: (string | number | null)[] = [];
  readonly ends: number[] = [];

  /** The value of the next rows. */
  add(value: string | number | null, rows: number): void {
    const last = this.ends.length - 1;
    const end = (this.ends[last] ?? 0) + rows;
    if (last >= 0 && this.values[last] === value) this.ends[last] = end;
    else {
      this.values.push(value);
      this.ends.push(end);
    }
  }
}

/** One run of a value. */
export function oneRun(value: string | number | null, rows: number): Runs {
  return { values: [value], ends: [rows] };
}

/** The runs of the rows from `start` to `end`, exclusive; row `start` becomes row 0. */
export function runsBetween({ values, ends }: Runs, start: number, end: number): Runs {
  const first = lowerBound(0, ends.length, (k) => (ends[k] as number) > start);
  const last = lowerBound(first, ends.length, (k) => (ends[k] as number) >= end);
  return {
    values: values.slice(first, last + 1),
    ends: ends.slice(first, last + 1).map((one) => Math.min(one, end) - start),
  };
}
