interface Waiting {
  readonly count: number;
  readonly grant: () => void;
}

/**
 * A number of permits. Those that wait get theirs in the order of arrival: who needs many is not overtaken by others
 * who need few.
 */
export class Permits {
  readonly #total: number;
  #taken = 0;
  readonly #waiting: Waiting[] = [];

  constructor(total: number) {
    this.#total = total;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * Waits for permits. Dispose them to give them back.
   *
   * @param count if it is larger than the total, it counts as the total. @default 1
   * @throws the signal's reason if it aborts before the permits are given.
   */
  async take(signal?: AbortSignal, count = 1): Promise<Disposable> {
    signal?.throwIfAborted();
    const own = Math.min(count, this.#total);
    if (this.#waiting.length === 0 && this.#taken + own <= this.#total) this.#taken += own;
    else await this.#wait(own, signal);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#taken -= own;
        this.#grant();
      },
    };
  }

  #wait(count: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(signal?.reason as Error);
        // Those behind it may need fewer permits.
        this.#grant();
      };
      const one: Waiting = {
        count,
        grant: () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(one);
    });
  }

  #grant(): void {
    for (
      let next = this.#waiting[0];
      next && this.#taken + next.count <= this.#total;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#taken += next.count;
      next.grant();
    }
  }
}

/** Makes a queue: each work starts when the previous work has ended, even if it failed. */
export function oneAfterAnother(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/**
 * Works on several items at once, and gives the results in the order of the items. At most `concurrency` results are
 * computed or wait, however slow the consumer is.
 */
export async function* inOrder<T, R>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const iterator = items[Symbol.iterator]();
  const running: Promise<R>[] = [];
  const start = (): void => {
    const next = iterator.next();
    if (next.done === true) return;
    const result = work(next.value);
    // A failure is thrown when its result is due, or never if the consumer has stopped before.
    result.catch(() => {});
    running.push(result);
  };
  for (let n = 0; n < concurrency; n++) start();
  for (let next = running.shift(); next !== undefined; next = running.shift()) {
    const value = await next;
    yield value;
    start();
  }
}
