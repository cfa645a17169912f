/** Lines that one side makes and the other sends: the maker waits until the line before was taken. */
export class LineQueue {
  readonly #lines: string[] = [];
  #isEnded = false;
  #wake = (): void => {};
  #taken = (): void => {};

  /** Adds a line; resolves once it was taken. */
  async push(line: string): Promise<void> {
    if (this.#isEnded) return;
    const taken = new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
    this.#lines.push(line);
    this.#wake();
    await taken;
  }

  /** No line follows. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#taken();
  }

  /** The lines, until the last one, or until nobody takes them any more. */
  async *pieces(signal: AbortSignal): AsyncGenerator<string> {
    const stop = (): void => this.end();
    signal.addEventListener("abort", stop, { once: true });
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
      signal.removeEventListener("abort", stop);
      this.end();
    }
  }
}
