import type { TableSchema } from "../../../schema/column.js";

/** Most symbols of a table that are cached, so that requests for ever more new symbols cannot fill the memory. */
const MOST_GUESSES = 200_000;

/**
 * Where each symbol's bars ended when they were last read. It is only an estimate of where to begin a look back, so
 * that the newest bars of a delisted symbol, which end years before the others, are found quickly.
 */
export class NewestBars {
  /** By table, then symbol: a text made of both would have to be hashed for each look-up. */
  readonly #tables = new Map<string, Map<string, number>>();

  /** Epoch milliseconds; -Infinity where the symbol had no bar; undefined where nothing is known. */
  get(table: TableSchema, symbol: string): number | undefined {
    return this.#tables.get(table.name)?.get(symbol);
  }

  note(table: TableSchema, symbol: string, timestamp: number): void {
    let timestamps = this.#tables.get(table.name);
    if (timestamps === undefined || timestamps.size >= MOST_GUESSES) {
      timestamps = new Map();
      this.#tables.set(table.name, timestamps);
    }
    timestamps.set(symbol, timestamp);
  }
}
