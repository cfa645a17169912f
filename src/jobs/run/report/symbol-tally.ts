/** The numbers of requested and of returned symbols. */
export interface Returned {
  readonly dataset: string;
  readonly requested: number;
  readonly returned: number;
  /** The first of the symbols for which nothing was returned. */
  readonly missing: readonly string[];
}

/** Most missing symbols that are named. */
const NAMED = 10;

/** Counts requested and returned symbols, by dataset. A symbol counts as returned if any response had it. */
export class SymbolTally {
  readonly #datasets = new Map<string, { requested: Set<string>; returned: Set<string> }>();

  /** Counts a request. @param absent its symbols that the response lacked; all of them where the request failed. */
  note(dataset: string, symbols: readonly string[], absent: ReadonlySet<string>): void {
    const tally = this.#datasets.get(dataset) ?? { requested: new Set(), returned: new Set() };
    this.#datasets.set(dataset, tally);
    for (const symbol of symbols) {
      tally.requested.add(symbol);
      if (!absent.has(symbol)) tally.returned.add(symbol);
    }
  }

  /** Removes all counts of a dataset. */
  forget(dataset: string): void {
    this.#datasets.delete(dataset);
  }

  /** The counts, by dataset. */
  counts(): Returned[] {
    return [...this.#datasets].map(([dataset, { requested, returned }]) => ({
      dataset,
      requested: requested.size,
      returned: returned.size,
      missing: [...requested].filter((symbol) => !returned.has(symbol)).slice(0, NAMED),
    }));
  }
}
