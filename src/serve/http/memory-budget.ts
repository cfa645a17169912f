/** Limits the rows of responses in flight. Requests beyond the limit wait, first come, first served. */
export class MemoryBudget {
  readonly #rows: number;
  readonly #waiting: { readonly rows: number; readonly enter: () => void }[] = [];
  #taken = 0;

  /** @param rows limit for all responses together; a larger single response counts as this many. */
  constructor(rows: number) {
    this.#rows = rows;
  }

  /**
   * Waits until the budget has enough rows.
   *
   * @returns a function that releases the rows.
   * @throws the signal's reason if it aborts while waiting.
   */
  async take(rows: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const wanted = Math.min(rows, this.#rows);
    if (this.#waiting.length > 0 || this.#taken + wanted > this.#rows) await this.#wait(wanted, signal);
    else this.#taken += wanted;
    return () => {
      this.#taken -= wanted;
      this.#letIn();
    };
  }

  #wait(rows: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(signal.reason as Error);
        this.#letIn();
      };
      const one = {
        rows,
        enter: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(one);
    });
  }

  #letIn(): void {
    for (
      let next = this.#waiting[0];
      next && this.#taken + next.rows <= this.#rows;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#taken += next.rows;
      next.enter();
    }
  }
}
