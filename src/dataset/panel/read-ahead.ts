import { interruptOn } from "../../db/session/interrupt-on.js";
import type { Session } from "../../db/session/session.js";

/** Rows that DuckDB computes ahead of their reader, in megabytes: enough for its threads not to wait. */
const STREAM_MB = 32;

/** Sets how many rows of a session's streaming results are computed ahead of their reader. */
export async function setReadAhead(session: Session): Promise<void> {
  await session.run(`SET streaming_buffer_size = '${STREAM_MB}MB'`);
}

/** Two connections to one database, for results that are read in turn. A class because it owns them. */
export class TwoConnections implements Disposable {
  readonly #sessions: readonly [Session, Session];
  readonly #interrupts: readonly Disposable[];

  private constructor(sessions: readonly [Session, Session], signal: AbortSignal | undefined) {
    this.#sessions = sessions;
    this.#interrupts = sessions.map((session) => interruptOn(session, signal));
  }

  /** @param session stays open, and is not used. @param signal interrupts their statements. */
  static async open(session: Session, signal: AbortSignal | undefined): Promise<TwoConnections> {
    const opened: Session[] = [];
    const open = async (): Promise<Session> => {
      const own = await session.sibling();
      opened.push(own);
      await setReadAhead(own);
      return own;
    };
    try {
      return new TwoConnections([await open(), await open()], signal);
    } catch (error) {
      for (const own of opened) own.close();
      throw error;
    }
  }

  /** The connection of the n-th result. */
  of(n: number): Session {
    return this.#sessions[(n % 2) as 0 | 1];
  }

  [Symbol.dispose](): void {
    for (const interrupt of this.#interrupts) interrupt[Symbol.dispose]();
    for (const session of this.#sessions) session.close();
  }
}

/**
 * Yields the result of each item, in order.
 *
 * @param overlapsReading whether the next item is queried while the result of the previous one is read, for which each
 *   needs a connection; else while that result is used.
 */
export async function* oneAhead<T, R>(
  items: Iterable<T>,
  { overlapsReading }: { readonly overlapsReading: boolean },
  ask: (item: T, index: number) => Promise<() => Promise<R>>,
): AsyncGenerator<R, void, undefined> {
  const next = items[Symbol.iterator]();
  let index = 0;
  const askNext = (): Promise<() => Promise<R>> | undefined => {
    const { done, value } = next.next();
    if (done === true) return undefined;
    const asked = ask(value, index++);
    asked.catch(() => {});
    return asked;
  };
  let asked = askNext();
  try {
    while (asked !== undefined) {
      const make = await asked;
      if (overlapsReading) asked = askNext();
      const made = await make();
      if (!overlapsReading) asked = askNext();
      yield made;
    }
  } finally {
    await asked?.catch(() => {});
  }
}
