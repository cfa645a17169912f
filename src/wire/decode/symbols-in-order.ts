/** Number of next symbols that are compared before a set is made. */
const AHEAD = 4;

/**
 * Symbols that are looked up one after the other, mostly in their order, because services respond in the order of the
 * request, and leave out few. So the next ones are compared before a set is made.
 */
export class SymbolsInOrder {
  readonly #symbols: readonly string[];
  #next = 0;
  #all: ReadonlySet<string> | undefined;

  constructor(symbols: readonly string[]) {
    this.#symbols = symbols;
  }

  has(symbol: string): boolean {
    const most = Math.min(this.#next + AHEAD, this.#symbols.length);
    for (let at = this.#next; at < most; at++) {
      if (this.#symbols[at] !== symbol) continue;
      this.#next = at + 1;
      return true;
    }
    this.#all ??= new Set(this.#symbols);
    return this.#all.has(symbol);
  }
}
