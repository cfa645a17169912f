import type { Issue } from "../../core/issue.js";

/** 1900-01-01 and 2200-01-01 in epoch milliseconds. A timestamp outside is in another unit, such as seconds. */
export const EARLIEST_MS = -2_208_988_800_000;
export const LATEST_MS = 7_258_118_400_000;

/** The issue of a bar whose timestamp is outside the requested window, or outside all possible times. */
export function timeIssue(
  symbol: string,
  { ms, index, byteOffset }: { readonly ms: number; readonly index: number; readonly byteOffset: number },
  { first, last }: { readonly first: number; readonly last: number },
): Issue {
  const isNoTime = ms < EARLIEST_MS || ms > LATEST_MS;
  const outside = isNoTime
    ? "not epoch milliseconds of 1900 to 2200"
    : `outside the window ${first} to ${last}`;
  return {
    rule: isNoTime ? "out_of_range" : "outside_window",
    symbol,
    column: "timestamp",
    index,
    message: `${symbol}: timestamp[${index}] is ${ms}, ${outside}`,
    byteOffset,
    rejected: 1,
  };
}

/** The issue of a symbol whose bars were sorted. @param repeats number of repeated bars that were removed. */
export function sortedIssue(symbol: string, repeats: number, byteOffset: number): Issue {
  return {
    rule: repeats > 0 ? "duplicate_key" : "unsorted",
    symbol,
    column: "timestamp",
    message:
      repeats > 0
        ? `${symbol}: ${repeats} timestamps occur more than once; the last bar of each was used`
        : `${symbol}: bars were not in the order of time; sorted`,
    byteOffset,
    rejected: repeats,
  };
}
