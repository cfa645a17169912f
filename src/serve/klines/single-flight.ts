import type { BarRun } from "./bar-runs.js";

type Runs = ReadonlyMap<string, BarRun>;

/** Loads that are under way: requests for the same bars of the same version share one. */
export class SingleFlight {
  readonly #inFlight = new Map<string, Promise<Runs>>();

  /**
   * Waits for a load that is under way, or else begins it. Where the one who began it has gone away, another begins anew.
   *
   * @param id all that the bars follow from.
   * @throws the signal's reason when it aborts while it waits for another's load.
   */
  async share(id: string, signal: AbortSignal, begin: () => Promise<Runs>): Promise<Runs> {
    for (let other = this.#inFlight.get(id); other !== undefined; other = this.#inFlight.get(id)) {
      const loaded = await Promise.race([other.catch(() => undefined), abortOf(signal)]);
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

function abortOf(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
