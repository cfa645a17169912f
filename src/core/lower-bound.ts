/**
 * The first index from `start` (inclusive) to `end` (exclusive) at which a condition is true; `end` where there is
 * none. The condition must be true at all indexes after the first such index.
 */
export function lowerBound(start: number, end: number, holds: (index: number) => boolean): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
