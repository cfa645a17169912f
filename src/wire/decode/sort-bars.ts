import type { KlineBuffers } from "./kline-buffers.js";

/**
 * Sorts the bars from a row on by timestamp. Of equal timestamps the last delivered one remains. @returns the number of
 * removed repeats; undefined where the bars were in order.
 */
export function sortBars(buffers: KlineBuffers, start: number): number | undefined {
  const { timestamp, all } = buffers;
  const end = timestamp.length;
  let sorted = true;
  for (let i = start + 1; i < end && sorted; i++) sorted = timestamp.at(i - 1) < timestamp.at(i);
  if (sorted) return undefined;
  const order = Uint32Array.from({ length: end - start }, (_, k) => start + k).sort(
    (a, b) => timestamp.at(a) - timestamp.at(b) || a - b,
  );
  const used = order.filter(
    (row, k) => k + 1 === order.length || timestamp.at(row) !== timestamp.at(order[k + 1] as number),
  );
  for (const column of all) column.permute(start, used);
  buffers.truncate(start + used.length);
  return order.length - used.length;
}
