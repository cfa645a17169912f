import { lowerBound } from "../../core/lower-bound.js";
import type { Block, Labels } from "./block.js";

/**
 * Marks the cells on whose dates a symbol is in the universe and has traded for enough bars.
 *
 * @param since first label that is marked. @param before number of bars with trades of each symbol before it.
 */
export function markMembers(
  { symbols, width, traded }: Block,
  { days }: Labels,
  {
    minHistory,
    since,
    before,
  }: { readonly minHistory: number; readonly since: number; readonly before: Float64Array },
  mask: Uint8Array,
): void {
  for (const [s, { spells }] of symbols.entries()) {
    const base = s * width;
    for (const { start, end } of spells) {
      const from = lowerBound(0, days.length, (label) => (days[label] as number) >= start);
      for (let label = Math.max(from, since); label < width && (days[label] as number) < end; label++)
        mask[base + label] = 1;
    }
    if (minHistory === 0) continue;
    let bars = before[s] as number;
    for (let label = since; label < width && bars < minHistory; label++) {
      bars += traded[base + label] as number;
      if (bars < minHistory) mask[base + label] = 0;
    }
  }
}
