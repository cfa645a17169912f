import { lowerBound } from "../../core/lower-bound.js";
import { type Block, type Experience, type Labels, NEVER } from "./block.js";

/**
 * Counts the bars of symbols, of which all cells are known.
 *
 * @param minHistory number of bars that is demanded. @param before number of bars before the first label.
 * @param traded of all labels of each symbol.
 */
export function experienceOf(minHistory: number, before: Float64Array, traded: Uint8Array): Experience {
  const experience = { ripe: new Int32Array(before.length), bars: new Int32Array(before.length) };
  const { ripe, bars } = experience;
  const width = traded.length / before.length;
  for (let s = 0; s < before.length; s++) {
    let count = Math.min(minHistory, before[s] as number);
    let label = -1;
    while (count < minHistory && ++label < width) count += traded[s * width + label] as number;
    ripe[s] = count < minHistory ? NEVER : Math.max(0, label);
    bars[s] = count;
  }
  return experience;
}

/**
 * Marks the cells on whose dates a symbol is in the universe and has traded for enough bars.
 *
 * @param since first label that is marked.
 */
export function markMembers(
  { symbols, width, ripe, since }: Pick<Block, "symbols" | "width" | "ripe" | "since">,
  { days }: Labels,
  mask: Uint8Array,
): void {
  for (const [s, { spells }] of symbols.entries()) {
    const base = s * width;
    for (const { start, end } of spells) {
      const from = lowerBound(0, days.length, (label) => (days[label] as number) >= start);
      const first = Math.max(from, since, ripe[s] as number);
      for (let label = first; label < width && (days[label] as number) < end; label++) mask[base + label] = 1;
    }
  }
}
