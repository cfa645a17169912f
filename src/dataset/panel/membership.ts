import { lowerBound } from "../../core/lower-bound.js";
import type { Block, Labels } from "./block.js";

/**
 * Marks the cells on whose dates a symbol is in the universe and has traded for enough bars.
 *
 * @param before number of bars with trades of each symbol before the first label.
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
      const from = lowerBound(0, days.length, (label) => (days[label] as number) >= start);
      for (let label = from; label < width && (days[label] as number) < end; label++) mask[base + label] = 1;
    }
    if (minHistory === 0) continue;
    let bars = before[s] as number;
    for (let label = 0; label < width && bars < minHistory; label++) {
      bars += traded[base + label] as number;
      if (bars < minHistory) mask[base + label] = 0;
    }
  }
}
