import { Permits } from "./permits.js";

/** A resource that one caller has until it is disposed. */
export interface Checkout<T> extends Disposable {
  readonly value: T;
  /** Says that the resource may be in any state: it is closed when it is returned. */
  discard(): void;
}

export interface PoolOptions<T> {
  /** Most callers that have a turn at the same time; further ones wait. */
  readonly atOnce: number;
  /** Most open resources, unless more are in use: those without a caller are closed first, the least recently used ones. */
  readonly mostOpen: number;
  readonly close: (value: T) => void;
  /** Whether a resource that is returned can be used again. @default always */
  readonly isUsable?: (value: T) => boolean;
}

/**
 * Resources that take long to open, such as sessions of a database. Each is used by one caller at a time, and again
 * by later ones with the same key.
 */
export class KeyedPool<T> {
  readonly #options: PoolOptions<T>;
  readonly #permits: Permits;
  /** Resources without a caller, the least recently used first. */
  #idle: { readonly key: string; readonly value: T }[] = [];
  /** Resources that callers have, or that are being opened for them. */
  #inUse = 0;
  #isClosed = false;
  /** Functions that resolve the promises of {@link close}. */
  readonly #closing: (() => void)[] = [];

  constructor(options: PoolOptions<T>) {
    this.#options = options;
    this.#permits = new Permits(options.atOnce);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Waits for a turn. Disposing it ends it. @param signal ends the wait, with its reason. */
  async turn(signal?: AbortSignal): Promise<Disposable> {
    const permit = await this.#permits.take(signal);
    return {
      [Symbol.dispose]: () => {
        permit[Symbol.dispose]();
        this.#settle();
      },
    };
  }

  /** Takes a resource with this key, without waiting for a turn. @param open opens one where there is none. */
  async take(key: string, open: () => Promise<T>): Promise<Checkout<T>> {
    const at = this.#idle.findLastIndex((one) => one.key === key);
    const [known] = at < 0 ? [] : this.#idle.splice(at, 1);
    this.#inUse += 1;
    this.#settle();
    if (known !== undefined) return this.#checkout(key, known.value);
    try {
      return this.#checkout(key, await open());
    } catch (error) {
      this.#inUse -= 1;
      this.#settle();
      throw error;
    }
  }

  /** Closes those of the resources without a caller for which `isOutdated` returns true. */
  drop(isOutdated: (value: T) => boolean): void {
    const dropped = this.#idle.filter(({ value }) => isOutdated(value));
    this.#idle = this.#idle.filter((one) => !dropped.includes(one));
    for (const { value } of dropped) this.#options.close(value);
  }

  /**
   * Closes the resources without a caller now, and the others when they are returned. Callers that wait for a turn get
   * theirs.
   *
   * @returns a promise that resolves when all turns have ended, and all resources are closed.
   */
  close(): Promise<void> {
    this.#isClosed = true;
    const isClosed = new Promise<void>((resolve) => this.#closing.push(resolve));
    this.#settle();
    return isClosed;
  }

  #checkout(key: string, value: T): Checkout<T> {
    const { close, isUsable } = this.#options;
    let [isOut, isReused] = [true, true];
    return {
      value,
      discard: () => {
        isReused = false;
      },
      [Symbol.dispose]: () => {
        if (!isOut) return;
        isOut = false;
        this.#inUse -= 1;
        if (isReused && isUsable?.(value) !== false) this.#idle.push({ key, value });
        else close(value);
        this.#settle();
      },
    };
  }

  /** Closes resources without a caller that are too many, and ends the close of the pool where nothing is in use. */
  #settle(): void {
    const most = this.#isClosed ? 0 : Math.max(0, this.#options.mostOpen - this.#inUse);
    for (const { value } of this.#idle.splice(0, Math.max(0, this.#idle.length - most)))
      this.#options.close(value);
    if (this.#isClosed && this.#inUse === 0 && this.#permits.taken === 0)
      for (const resolve of this.#closing.splice(0)) resolve();
  }
}
