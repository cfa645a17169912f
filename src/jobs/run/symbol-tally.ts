/** How many of the symbols that a run asked for it was given anything of. */
export interface Returned {
  readonly dataset: string;
  readonly requested: number;
  readonly returned: number;
  /** Some of those that it was given nothing of. */
  readonly missing: readonly string[];
}

/** Missing symbols that are named. */
const NAMED = 10;

/** Counts symbols that were asked for and that were returned, by dataset; one that came in any window was returned. */
export class SymbolTally {
  readonly #datasets = new Map<string, { requested: Set<string>; returned: Set<string> }>();

  /** Takes note of a request. @param absent those of its symbols that the answer had nothing of; all, where it failed. */
  note(dataset: string, symbols: readonly string[], absent: ReadonlySet<string>): void {
    const tally = this.#datasets.get(dataset) ?? { requested: new Set(), returned: new Set() };
    this.#datasets.set(dataset, tally);
    for (const symbol of symbols) {
      tally.requested.add(symbol);
      if (!absent.has(symbol)) tally.returned.add(symbol);
    }
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
