import type { Clock } from "../../../core/time.js";

/** Consecutive failures after which requests pause. */
const MAX_FAILURES_IN_A_ROW = 5;
/** Length of the first pause, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 30_000;
/** Number of pauses without a response in between, after which the run stops. */
const MAX_PAUSES = 2;

/**
 * Prevents a run from sending requests to a service that does not respond: requests pause, and finally the run stops.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  #failures = 0;
  #pauses = 0;
  #closedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves once a request may be sent. */
  async ready(signal: AbortSignal): Promise<void> {
    const wait = this.#closedUntil - this.#clock.now();
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }

  /** Records a response: the service is available. */
  succeeded(): void {
    this.#failures = 0;
    this.#pauses = 0;
  }

  /** Records a failure. @returns the reason to stop the run, if there were too many failures; else undefined. */
  failed(reason: string): string | undefined {
    this.#failures += 1;
    if (this.#failures % MAX_FAILURES_IN_A_ROW !== 0) return undefined;
    if (this.#pauses === MAX_PAUSES)
      return `${this.#failures} requests failed in a row, the last with: ${reason}`;
    this.#closedUntil = this.#clock.now() + FIRST_PAUSE_MS * 2 ** this.#pauses;
    this.#pauses += 1;
    return undefined;
  }
}
