import { crc32 } from "node:zlib";
import type { SymbolRange } from "../cells/cells.js";
import type { BlockOptions, PanelSymbol } from "./block.js";

/**
 * Divides symbols into the blocks of a dataset.
 *
 * @param symbols in order.
 * @param most number of symbols whose cells fit into memory; a block has at least one.
 */
export function divideSymbols(
  symbols: readonly PanelSymbol[],
  most: number,
  parts: BlockOptions["parts"],
): SymbolRange[] {
  const starts = parts === "even" ? evenStarts(symbols.length, most) : stableStarts(symbols, most);
  return starts.map((start, index) => ({
    index,
    start,
    symbols: symbols.slice(start, starts[index + 1]),
    since: 0,
  }));
}

function evenStarts(symbols: number, most: number): number[] {
  const step = Math.max(1, most);
  return Array.from({ length: Math.ceil(symbols / step) }, (_, index) => index * step);
}

/**
 * A block begins with a symbol whose checksum says so, on average every `full / 2` symbols, or when the block before it
 * is full. `full` is a power of two, and so the same for twice as many labels.
 */
function stableStarts(symbols: readonly PanelSymbol[], most: number): number[] {
  const full = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most))));
  const starts: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const [at, { symbol }] of symbols.entries()) {
    const isBeginning = crc32(symbol) % Math.max(1, full / 2) === 0;
    if (at > 0 && !isBeginning && at - last < full) continue;
    starts.push(at);
    last = at;
  }
  return starts;
}
