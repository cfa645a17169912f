import type { KlineRun } from "../../wire/kline-columns.js";
import type { LakeView } from "../read/lake-reader.js";
import type { KlinesRequest } from "./klines-request.js";
import { readKlines } from "./read-klines.js";

/** Most bars that are read at the same time: those of a response with 100 symbols and the largest count. */
export const BLOCK_ROWS = 1_000_000;

/**
 * Reads bars as {@link readKlines} does, one block of symbols after the other, so that a request for any number of
 * symbols needs the memory of one block.
 *
 * @param most most bars that a symbol can have. @default the request's count
 */
export async function* klineBlocks(
  view: LakeView,
  request: KlinesRequest,
  most: number = request.count,
): AsyncGenerator<KlineRun[]> {
  const size = Math.max(1, Math.floor(BLOCK_ROWS / Math.max(1, Math.min(most, request.count))));
  for (let start = 0; start === 0 || start < request.symbols.length; start += size)
    // The memory of a request is in use until its response ends: a block has its own.
    yield await readKlines(view, {
      ...request,
      memory: undefined,
      symbols: request.symbols.slice(start, start + size),
    });
}

/** Whether a request fits into one block. */
export function isOneBlock({ symbols, count }: KlinesRequest, most: number = count): boolean {
  return symbols.length * Math.min(most, count) <= BLOCK_ROWS;
}
