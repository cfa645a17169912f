/**
 * A queue of lines between a producer and a sender. The producer waits until the previous line was taken. It is a class
 * because it owns the lines in the queue.
 */
export class LineQueue {
  readonly #lines: string[] = [];
  #isEnded = false;
  #wake = (): void => {};
  #taken = (): void => {};

  /**
   * @param gone aborts when the receiver has disconnected. This ends the queue, whether or not its lines are being
   *   taken.
   */
  constructor(gone: AbortSignal) {
    if (gone.aborted) this.end();
    else gone.addEventListener("abort", () => this.end(), { once: true });
  }

  /**
   * Adds a line. Resolves once it was taken, or the queue has ended. @throws the signal's reason if it aborts first.
   */
  async push(line: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isEnded) return;
    let stop = (): void => {};
    const taken = new Promise<void>((resolve, reject) => {
      this.#taken = resolve;
      stop = () => reject(signal?.reason as Error);
    });
    signal?.addEventListener("abort", stop, { once: true });
    this.#lines.push(line);
    this.#wake();
    try {
      await taken;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the queue: no line follows. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#taken();
  }

  /** The lines, until the queue ends or the receiver stops. */
  async *pieces(): AsyncGenerator<string> {
    try {
      for (;;) {
        const line = this.#lines.shift();
        if (line !== undefined) {
          this.#taken();
          yield `${line}\n`;
          continue;
        }
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.end();
    }
  }
}
