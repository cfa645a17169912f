/** The symbols of a response that were accepted, and how many bars each has. */
export class AcceptedSymbols {
  readonly symbols: string[] = [];
  /** Row at which each of them ends. */
  readonly ends: number[] = [];
  /** Number of bars of each symbol in the response, before any was rejected; of symbols that were rejected, too. */
  readonly received = new Map<string, number>();
  /** The rows of all of them: the row at which the next one begins. */
  rows = 0;

  accept(symbol: string, end: number): void {
    this.symbols.push(symbol);
    this.ends.push(end);
    this.rows = end;
  }
}
