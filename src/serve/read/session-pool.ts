import { type Checkout, KeyedPool } from "../../core/keyed-pool.js";
import type { SessionOptions } from "../../db/session/open-database.js";
import { interruptOn, Session } from "../../db/session/session.js";

/**
 * Most symbols of a join that DuckDB tests one by one against a file's statistics. With DuckDB's default of 50, a full
 * batch would read everything between its least and greatest symbol.
 */
const IN_FILTER_SYMBOLS = 1000;

/** An in-memory database, and its number of open connections. */
interface Root {
  readonly database: Session;
  open: number;
}

interface Connection {
  readonly session: Session;
  readonly root: Root;
}

/**
 * Connections to one in-memory database, each used by one statement at a time. Where an error inside of DuckDB has
 * ended the database, the statements that run there fail, and the next ones have another database.
 */
export class SessionPool {
  readonly #pool: KeyedPool<Connection>;
  readonly #openRoot: () => Promise<Root>;
  #root: Root;
  /** The database that replaces a broken one, while it is opened. */
  #opening: Promise<void> | undefined;

  private constructor(root: Root, size: number, openRoot: () => Promise<Root>) {
    this.#root = root;
    this.#openRoot = openRoot;
    this.#pool = new KeyedPool({
      atOnce: size,
      mostOpen: size,
      close: (connection) => this.#discard(connection),
      isUsable: (connection) => connection.root === this.#root && !connection.session.isBroken,
    });
  }

  /** @param size most connections, and so most statements that run at the same time. */
  static async open(size: number, options: SessionOptions): Promise<SessionPool> {
    const openRoot = async (): Promise<Root> => ({ database: await openDatabase(options), open: 0 });
    return new SessionPool(await openRoot(), size, openRoot);
  }

  /**
   * Runs `use` with a connection that no other caller uses at the same time; waits while all connections are in use.
   *
   * @param signal when it aborts, the wait ends, or the running statement is stopped.
   */
  async use<T>(use: (session: Session) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#pool.isClosed) throw new Error("session pool: is closed");
    using _ = await this.#pool.turn(signal);
    using connection = await this.#take();
    return await interruptible(connection.value.session, use, signal);
  }

  /**
   * Closes idle connections now, busy ones when they are returned, and the database with the last one. The statement of
   * a client that disconnected may still be running.
   *
   * @returns a promise that resolves when the database is closed and its folder for spilled data is deleted.
   */
  async close(): Promise<void> {
    await this.#pool.close();
    this.#root.database.close();
  }

  async #take(): Promise<Checkout<Connection>> {
    for (;;) {
      if (this.#root.database.isBroken) await this.#replaceRoot();
      const root = this.#root;
      try {
        return await this.#pool.take("", () => this.#connect(root));
      } catch (error) {
        // A statement of another connection may have ended the database just now.
        if (!root.database.isBroken) throw error;
      }
    }
  }

  async #connect(root: Root): Promise<Connection> {
    root.open += 1;
    try {
      return { session: await root.database.sibling(), root };
    } catch (error) {
      this.#left(root);
      throw error;
    }
  }

  /** Opens another database in place of the broken one; callers that need it at the same time share it. */
  async #replaceRoot(): Promise<void> {
    const replace = async (): Promise<void> => {
      const broken = this.#root;
      this.#root = await this.#openRoot();
      this.#pool.drop(() => true);
      if (broken.open === 0) broken.database.close();
    };
    this.#opening ??= replace().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  #discard({ session, root }: Connection): void {
    session.close();
    this.#left(root);
  }

  /** A database that was replaced is closed with its last connection. */
  #left(root: Root): void {
    root.open -= 1;
    if (root.open === 0 && root !== this.#root) root.database.close();
  }
}

async function openDatabase(options: SessionOptions): Promise<Session> {
  const root = await Session.open(options);
  try {
    await root.run(`SET GLOBAL dynamic_or_filter_threshold = ${IN_FILTER_SYMBOLS}`);
    // The footer of a data file never changes, so it is read only once.
    await root.run("SET GLOBAL parquet_metadata_cache = true");
    return root;
  } catch (error) {
    root.close();
    throw error;
  }
}

/** Runs work with a session, whose statement is stopped when the signal aborts. */
async function interruptible<T>(
  session: Session,
  use: (session: Session) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  signal?.throwIfAborted();
  using _ = interruptOn(session, signal);
  return await use(session);
}
