/** Results that are kept at most; each is a page of a list, or the counts of a rule. */
const MOST_KEPT = 200;

/**
 * The newest results by their keys: several pages ask for the same, and one goes back and forth. It is a class because it
 * keeps them.
 */
export class KeptResults {
  /** The least recently used first. */
  readonly #kept = new Map<string, Promise<unknown>>();

  /** The result of a key, made once. A failure is not kept: the next call makes it again. */
  of<T>(key: string, make: () => Promise<T>): Promise<T> {
    const known = this.#kept.get(key) as Promise<T> | undefined;
    const result = known ?? make();
    this.#kept.delete(key);
    this.#kept.set(key, result);
    result.catch(() => {
      if (this.#kept.get(key) === result) this.#kept.delete(key);
    });
    for (const old of [...this.#kept.keys()].slice(0, -MOST_KEPT)) this.#kept.delete(old);
    return result;
  }
}
