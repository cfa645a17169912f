import type { Block, Labels } from "./block.js";

/**
 * Marks the cells on whose dates a symbol is in the universe and has traded long enough.
 *
 * @param before bars with trades that each symbol had before the first label.
 */
export function markMembers(
  { symbols, width, traded }: Block,
  { days }: Labels,
  { minHistory, before }: { readonly minHistory: number; readonly before: Float64Array },
  mask: Uint8Array,
): void {
  for (const [s, { spells }] of symbols.entries()) {
    const base = s * width;
    for (const { start, end } of spells) {
      for (let label = lowerBound(days, start); label < width && (days[label] as number) < end; label++)
        mask[base + label] = 1;
    }
    if (minHistory === 0) continue;
    let bars = before[s] as number;
    for (let label = 0; label < width && bars < minHistory; label++) {
      bars += traded[base + label] as number;
      if (bars < minHistory) mask[base + label] = 0;
    }
  }
}

/** The first label on or after a day. */
function lowerBound(days: Int32Array, day: number): number {
  let [low, high] = [0, days.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((days[middle] as number) >= day) high = middle;
    else low = middle + 1;
  }
  return low;
}
