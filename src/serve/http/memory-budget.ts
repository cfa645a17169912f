/** Responses with more rows have a separate budget and queue, so that they do not delay short ones. */
const SHORT_ROWS = 50_000;
/**
 * Rows of the responses in flight, at about 90 bytes each. The long budget has space for one response of the largest
 * size.
 */
const SHORT_BUDGET_ROWS = 500_000;
const LONG_BUDGET_ROWS = 1_200_000;

/** The memory budgets of a service: one for short responses, one for long ones. */
export class MemoryBudgets {
  readonly #short = new MemoryBudget(SHORT_BUDGET_ROWS);
  readonly #long = new MemoryBudget(LONG_BUDGET_ROWS);

  of(rows: number): MemoryBudget {
    return rows > SHORT_ROWS ? this.#long : this.#short;
  }
}

/** Limits the total rows of responses in flight. Requests beyond the limit wait in order of arrival. */
export class MemoryBudget {
  readonly #rows: number;
  readonly #waiting: { readonly rows: number; readonly grant: () => void }[] = [];
  #used = 0;

  /**
   * @param rows limit for all responses together. A response that is larger than the limit counts as this many rows.
   */
  constructor(rows: number) {
    this.#rows = rows;
  }

  /**
   * Waits until the budget has this number of rows free, and acquires them.
   *
   * @returns a function that releases the rows.
   * @throws the signal's reason if it aborts while waiting.
   */
  async acquire(rows: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const granted = Math.min(rows, this.#rows);
    if (this.#waiting.length > 0 || this.#used + granted > this.#rows) await this.#wait(granted, signal);
    else this.#used += granted;
    return () => {
      this.#used -= granted;
      this.#grant();
    };
  }

  #wait(rows: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(signal.reason as Error);
        this.#grant();
      };
      const one = {
        rows,
        grant: () => {
          signal.removeEventListener("abort", cancel);
          resolve();
        },
      };
      signal.addEventListener("abort", cancel, { once: true });
      this.#waiting.push(one);
    });
  }

  #grant(): void {
    for (let next = this.#waiting[0]; next && this.#used + next.rows <= this.#rows; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#used += next.rows;
      next.grant();
    }
  }
}
