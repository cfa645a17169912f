import type { LentMemory } from "../../core/memory-pool.js";
import type { BarRun } from "./bar-runs.js";

type Runs = ReadonlyMap<string, BarRun>;

/** A load, and the memory of its request, into which it may read bars. */
interface Load {
  readonly runs: Promise<Runs>;
  readonly memory: LentMemory | undefined;
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly memory?: LentMemory | undefined;
}

/** Loads in flight. Requests for the same bars of the same version share one load. */
export class SingleFlight {
  readonly #inFlight = new Map<string, Load>();

  /**
   * Waits for a load in flight, or starts one if there is none. If the load fails, a waiting request starts another.
   *
   * @param id identifies everything that the bars depend on.
   * @throws the signal's reason if it aborts while waiting for the load of another request.
   */
  async share(id: string, { signal, memory }: Waiting, begin: () => Promise<Runs>): Promise<Runs> {
    for (let other = this.#inFlight.get(id); other !== undefined; other = this.#inFlight.get(id)) {
      other.memory?.share();
      const over = new AbortController();
      const loaded = await Promise.race([other.runs.catch(() => undefined), abortOf(signal, over.signal)]);
      over.abort();
      signal.throwIfAborted();
      if (loaded !== undefined) return loaded;
    }
    const own = begin();
    this.#inFlight.set(id, { runs: own, memory });
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
