import type { TableSchema } from "../../schema/column.js";

/** Guesses kept at most: whoever asks for ever new symbols fills no memory. */
const MOST_GUESSES = 200_000;

/**
 * Where each symbol's bars ended when they were last read. Only ever a guess at where to begin a look back: a delisted
 * symbol's newest bars are then found at once, years before the others'.
 */
export class NewestBars {
  readonly #timestamps = new Map<string, number>();

  /** Epoch milliseconds, minus infinity where the symbol had no bar, or undefined where nothing is known. */
  get(table: TableSchema, symbol: string): number | undefined {
    return this.#timestamps.get(`${table.name} ${symbol}`);
  }

  note(table: TableSchema, symbol: string, timestamp: number): void {
    if (this.#timestamps.size >= MOST_GUESSES) this.#timestamps.clear();
    this.#timestamps.set(`${table.name} ${symbol}`, timestamp);
  }
}
