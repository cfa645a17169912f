import type { TableSchema } from "../../../schema/column.js";

/** Most symbols that are cached: requests for more and more new symbols must not fill the memory. */
const MOST_GUESSES = 200_000;

/**
 * Where each symbol's bars ended when they were last read. It is only a guess at where to begin a look back: a delisted
 * symbol's newest bars, which end years before the others', are then found at once.
 */
export class NewestBars {
  readonly #timestamps = new Map<string, number>();

  /** Epoch milliseconds; minus infinity where the symbol had no bar; undefined where nothing is known. */
  get(table: TableSchema, symbol: string): number | undefined {
    return this.#timestamps.get(`${table.name} ${symbol}`);
  }

  note(table: TableSchema, symbol: string, timestamp: number): void {
    if (this.#timestamps.size >= MOST_GUESSES) this.#timestamps.clear();
    this.#timestamps.set(`${table.name} ${symbol}`, timestamp);
  }
}
