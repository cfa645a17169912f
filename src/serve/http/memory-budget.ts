import { MemoryPool } from "../../core/memory-pool.js";
import { Permits } from "../../core/permits.js";

/** Responses with more rows have a separate budget and queue, so that they do not delay short ones. */
const SHORT_ROWS = 50_000;
/** Rows in flight, at about 90 bytes each. The long budget has space for one response of the largest size. */
const SHORT_BUDGET_ROWS = 500_000;
const LONG_BUDGET_ROWS = 1_200_000;

/**
 * The memory of a service's responses: a permit for each row, of short responses and of long ones, and the memory that
 * they use one after the other.
 */
export class MemoryBudgets {
  readonly pool = new MemoryPool();
  readonly #short = new Permits(SHORT_BUDGET_ROWS);
  readonly #long = new Permits(LONG_BUDGET_ROWS);

  /** Waits until a response of so many rows has space. @throws the signal's reason if it aborts during the wait. */
  take(rows: number, signal: AbortSignal): Promise<Disposable> {
    return (rows > SHORT_ROWS ? this.#long : this.#short).take(signal, rows);
  }
}
