import { Session } from "../../db/session/session.js";
import type { SessionOptions } from "../../db/session/session-options.js";

/**
 * Most symbols of a join that DuckDB tests one by one against a file's statistics. With DuckDB's default of 50, a full
 * batch would read everything between its least and greatest symbol.
 */
const IN_FILTER_SYMBOLS = 1000;

const INTERRUPT_EVERY_MS = 20;

/** Connections to one in-memory database, each used by one statement at a time. */
export class SessionPool {
  readonly #root: Session;
  readonly #size: number;
  readonly #idle: Session[] = [];
  readonly #waiting: ((session: Session) => void)[] = [];
  #opened = 0;
  #closed = false;
  /** Functions that resolve the promises of {@link close}. */
  readonly #closing: (() => void)[] = [];

  private constructor(root: Session, size: number) {
    this.#root = root;
    this.#size = size;
  }

  /** @param size most connections, and so most statements that run at the same time. */
  static async open(size: number, options: SessionOptions): Promise<SessionPool> {
    const root = await Session.open(options);
    await root.run(`SET GLOBAL dynamic_or_filter_threshold = ${IN_FILTER_SYMBOLS}`);
    // The footer of a data file never changes, so it is read only once.
    await root.run("SET GLOBAL parquet_metadata_cache = true");
    return new SessionPool(root, size);
  }

  /**
   * Runs `use` with a connection that no other caller uses at the same time; waits while all connections are in use.
   *
   * @param signal when it aborts, the running statement is stopped.
   */
  async use<T>(use: (session: Session) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const session = await this.#take();
    let stopping: NodeJS.Timeout | undefined;
    // An interrupt between two statements, or while one is being prepared, has no effect, so it is repeated.
    const stop = (): void => {
      session.interrupt();
      stopping = setInterval(() => session.interrupt(), INTERRUPT_EVERY_MS);
    };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      signal?.throwIfAborted();
      return await use(session);
    } finally {
      signal?.removeEventListener("abort", stop);
      clearInterval(stopping);
      this.#giveBack(session);
    }
  }

  /**
   * Closes idle connections now, busy ones when they are returned, and the database with the last one. The statement of
   * a client that disconnected may still be running.
   *
   * @returns a promise that resolves when the database is closed and its folder for spilled data is deleted.
   */
  close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#idle.splice(0)) this.#discard(session);
    const isClosed = new Promise<void>((resolve) => this.#closing.push(resolve));
    this.#closeUnused();
    return isClosed;
  }

  async #take(): Promise<Session> {
    if (this.#closed) throw new Error("session pool: is closed");
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#opened >= this.#size) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#opened += 1;
    try {
      return await this.#root.sibling();
    } catch (error) {
      this.#opened -= 1;
      this.#closeUnused();
      throw error;
    }
  }

  #giveBack(session: Session): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next(session);
    if (!this.#closed) return void this.#idle.push(session);
    this.#discard(session);
    this.#closeUnused();
  }

  #discard(session: Session): void {
    session.close();
    this.#opened -= 1;
  }

  /** Closes the database of a closed pool when no connection is in use. */
  #closeUnused(): void {
    if (!this.#closed || this.#opened > 0) return;
    this.#root.close();
    for (const resolve of this.#closing.splice(0)) resolve();
  }
}
