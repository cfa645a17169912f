/** A result, and the number of callers that wait for it. */
interface CachedResult {
  readonly result: Promise<unknown>;
  readonly stop: AbortController;
  waiting: number;
  isMade: boolean;
}

/**
 * Caches the newest results by key: several pages request the same results, and a page requests them again. It is a
 * class because it owns the cache.
 */
export class ResultCache {
  readonly #most: number;
  /** Results by key, the least recently used first. */
  readonly #cached = new Map<string, CachedResult>();

  /** @param most results that are cached */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * The result of a key, which is made once. A failure is not cached: the next call makes the result again.
   *
   * @param gone aborts when the caller no longer waits.
   * @param make gets a signal that aborts when no caller waits any more.
   */
  of<T>(key: string, gone: AbortSignal, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const known = this.#cached.get(key) ?? this.#begin(key, make);
    this.#cached.delete(key);
    this.#cached.set(key, known);
    for (const old of [...this.#cached.keys()].slice(0, -this.#most)) this.#cached.delete(old);
    this.#wait(key, known, gone);
    return known.result as Promise<T>;
  }

  #begin<T>(key: string, make: (signal: AbortSignal) => Promise<T>): CachedResult {
    const stop = new AbortController();
    const known: CachedResult = { result: make(stop.signal), stop, waiting: 0, isMade: false };
    const end = (): void => {
      known.isMade = true;
    };
    known.result.then(end, () => this.#forget(key, known)).finally(end);
    return known;
  }

  #wait(key: string, known: CachedResult, gone: AbortSignal): void {
    known.waiting++;
    const leave = (): void => {
      known.waiting--;
      if (known.waiting > 0 || known.isMade) return;
      this.#forget(key, known);
      known.stop.abort(gone.reason);
    };
    if (gone.aborted) leave();
    else gone.addEventListener("abort", leave, { once: true });
  }

  #forget(key: string, known: CachedResult): void {
    if (this.#cached.get(key) === known) this.#cached.delete(key);
  }
}
