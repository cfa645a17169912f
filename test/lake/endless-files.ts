import { vi } from "vitest";
import type { Lake } from "../../src/lake/lake.js";

/** Pieces after which a file of {@link endlessFiles} ends, so that a reader that goes on ends, too. */
const MOST_PIECES = 1000;

/**
 * Makes the files of a lake long ones, and aborts a signal while the first of them is read.
 *
 * @returns the number of pieces that were read.
 */
export function endlessFiles(lake: Lake, stop: AbortController): () => number {
  const read = lake.read.bind(lake);
  let count = 0;
  vi.spyOn(lake, "read").mockImplementation(async (...args) => {
    const pieces = await read(...args);
    return (
      pieces &&
      (async function* () {
        for await (const piece of pieces)
          for (let n = 0; n < MOST_PIECES; n++) {
            count++;
            yield piece;
            stop.abort();
          }
      })()
    );
  });
  return () => count;
}
