import type { StoredSymbols } from "../db/market/read-ex-rules.js";
import type { Snapshot } from "./log/snapshot.js";

const NONE: StoredSymbols = new Map();

/** The stored symbols of names, of the versions of symbol changes that were read. A failed read is not kept. */
export class NamesByVersion<State> {
  readonly #read: (state: State) => Promise<StoredSymbols>;
  readonly #known = new WeakMap<Snapshot, Promise<StoredSymbols>>();

  /** @param read reads the names of a state. */
  constructor(read: (state: State) => Promise<StoredSymbols>) {
    this.#read = read;
  }

  /** The names of a state that has this version of the changes. Without changes nothing is read. */
  async of(changes: Snapshot | undefined, state: State): Promise<StoredSymbols> {
    if (changes === undefined || changes.files.size === 0) return NONE;
    const names = this.#known.get(changes) ?? this.#read(state);
    this.#known.set(changes, names);
    names.catch(() => this.#known.delete(changes));
    return names;
  }
}
