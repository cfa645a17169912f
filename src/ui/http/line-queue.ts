/**
 * Lines that one side makes and the other sends: the maker waits until the line before was taken. It is a class because
 * it owns the lines between the two.
 */
export class LineQueue {
  readonly #lines: string[] = [];
  #isEnded = false;
  #wake = (): void => {};
  #taken = (): void => {};

  /** @param gone aborts when the receiver has gone: that ends the queue, whether its lines are being taken or not. */
  constructor(gone: AbortSignal) {
    if (gone.aborted) this.end();
    else gone.addEventListener("abort", () => this.end(), { once: true });
  }

  /** Adds a line; resolves once it was taken, or the queue has ended. @throws the signal's reason where it aborts first. */
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

  /** No line follows. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#taken();
  }

  /** The lines, until the last one, or until the receiver stops. */
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
