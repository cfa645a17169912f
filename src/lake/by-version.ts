import type { Snapshot } from "./log/snapshot.js";

/** The versions of some tables as a text, which changes whenever the rows of one of the tables may have changed. */
export function versionsOf(snapshots: readonly Snapshot[]): string {
  return snapshots.map(({ table, dataId }) => `${table.name}:${dataId}`).join(" ");
}

/**
 * A value that is loaded once for each version of the tables that it is derived from. Concurrent callers share one
 * load. A failed load is not kept.
 */
export class ByVersion<T> {
  readonly #most: number;
  /** The least recently used first. */
  readonly #known = new Map<string, Promise<T>>();

  /** @param most versions whose values are kept. */
  constructor(most = 1) {
    this.#most = most;
  }

  /** @param versions see {@link versionsOf}. */
  of(versions: string, load: () => Promise<T>): Promise<T> {
    const known = this.#known.get(versions);
    const value = known ?? load();
    this.#known.delete(versions);
    this.#known.set(versions, value);
    if (known !== undefined) return value;
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest);
    value.catch(() => {
      if (this.#known.get(versions) === value) this.#known.delete(versions);
    });
    return value;
  }

  forget(): void {
    this.#known.clear();
  }
}
