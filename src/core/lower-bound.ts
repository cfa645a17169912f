/**
 * The first index from `start` up to `end` at which a condition that stays true once it is true holds; `end` where it holds
 * at none.
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
