import type { BarRun } from "../bar-runs.js";

type Runs = ReadonlyMap<string, BarRun>;

/** Loads in flight. Requests for the same bars of the same version share one load. */
export class SingleFlight {
  readonly #inFlight = new Map<string, Promise<Runs>>();

  /**
   * Waits for a load in flight, or starts one if there is none. If the load fails, a waiting request starts another.
   *
   * @param id identifies everything that the bars depend on.
   * @throws the signal's reason if it aborts while waiting for the load of another request.
   */
  async share(id: string, signal: AbortSignal, begin: () => Promise<Runs>): Promise<Runs> {
    for (let other = this.#inFlight.get(id); other !== undefined; other = this.#inFlight.get(id)) {
      const over = new AbortController();
      const loaded = await Promise.race([other.catch(() => undefined), abortOf(signal, over.signal)]);
      over.abort();
      signal.throwIfAborted();
      if (loaded !== undefined) return loaded;
    }
    const own = begin();
    this.#inFlight.set(id, own);
    try {
      return await own;
    } finally {
      this.#inFlight.delete(id);
    }
  }
}

/** Resolves when a signal aborts. @param until ends the wait, because the signal may live as long as the service. */
function abortOf(signal: AbortSignal, until: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: until });
  });
}
