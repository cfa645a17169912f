import type { Clock } from "../core/time.js";

/** Added to a wait that the service told, so that a clock that is a little ahead is not refused again. */
const WAIT_MARGIN_MS = 25;

/** Lets requests of one endpoint group through at an even pace, and none while the service has told us to wait. */
export class RateGate {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #next = 0;

  /** @param requestsPerMinute undefined: no pace but what the service tells. */
  constructor(clock: Clock, requestsPerMinute: number | undefined) {
    this.#clock = clock;
    this.#spacingMs = requestsPerMinute === undefined ? 0 : 60_000 / requestsPerMinute;
  }

  /** Resolves when the next request may be sent. */
  async enter(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(now, this.#next);
    this.#next = at + this.#spacingMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }

  /** Lets nothing through for `ms` milliseconds. */
  pause(ms: number): void {
    this.#next = Math.max(this.#next, this.#clock.now() + ms + WAIT_MARGIN_MS);
  }
}
