/**
 * A queue of pieces of a response between a producer and the sender. The producer waits until the previous piece was
 * taken. It is a class because it owns the pieces in the queue.
 */
export class PieceQueue {
  readonly #pieces: string[] = [];
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  #wake = (): void => {};
  #taken = (): void => {};

  /**
   * @param gone aborts when the receiver has disconnected. This ends the queue, whether or not its pieces are being
   *   taken.
   */
  constructor(gone: AbortSignal) {
    if (gone.aborted) this.end();
    else gone.addEventListener("abort", () => this.end(), { once: true });
  }

  /**
   * Adds a piece. Resolves once it was taken, or the queue has ended. @throws the signal's reason if it aborts first.
   */
  async push(piece: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isEnded) return;
    let stop = (): void => {};
    const taken = new Promise<void>((resolve, reject) => {
      this.#taken = resolve;
      stop = () => reject(signal?.reason as Error);
    });
    signal?.addEventListener("abort", stop, { once: true });
    this.#pieces.push(piece);
    this.#wake();
    try {
      await taken;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the queue: no piece follows. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#taken();
  }

  /** Ends the queue with an error, which its reader gets. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** Waits for the first piece, or the end. @throws the error with which the queue has ended. */
  async begun(): Promise<void> {
    while (this.#pieces.length === 0) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isEnded) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The pieces, until the queue ends or the receiver stops. @throws the error with which the queue has ended. */
  async *pieces(): AsyncGenerator<string> {
    try {
      for (;;) {
        await this.begun();
        const piece = this.#pieces.shift();
        if (piece === undefined) return;
        this.#taken();
        yield piece;
      }
    } finally {
      this.end();
    }
  }
}
