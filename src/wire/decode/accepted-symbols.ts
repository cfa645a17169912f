/** The accepted symbols of a response, and the number of bars of each. */
export class AcceptedSymbols {
  readonly symbols: string[] = [];
  /** For each symbol, the row after its last bar. */
  readonly ends: number[] = [];
  /** Number of bars of each symbol in the response, before any bar was rejected. Rejected symbols are included. */
  readonly received = new Map<string, number>();
  /** Number of rows of all symbols, which is the row at which the next symbol begins. */
  rows = 0;

  accept(symbol: string, end: number): void {
    this.symbols.push(symbol);
    this.ends.push(end);
    this.rows = end;
  }
}
