import type { TableSchema } from "../../../schema/column.js";

/** Most symbols that are cached, so that requests for ever more new symbols cannot fill the memory. */
const MOST_GUESSES = 200_000;

/**
 * Where each symbol's bars ended when they were last read. It is only an estimate of where to begin a look back, so
 * that the newest bars of a delisted symbol, which end years before the others, are found quickly.
 */
export class NewestBars {
  readonly #timestamps = new Map<string, number>();

  /** Epoch milliseconds; -Infinity where the symbol had no bar; undefined where nothing is known. */
  get(table: TableSchema, symbol: string): number | undefined {
    return this.#timestamps.get(`${table.name} ${symbol}`);
  }

  note(table: TableSchema, symbol: string, timestamp: number): void {
    if (this.#timestamps.size >= MOST_GUESSES) this.#timestamps.clear();
    this.#timestamps.set(`${table.name} ${symbol}`, timestamp);
  }
}
