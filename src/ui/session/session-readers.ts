import { QueryError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { interruptOn } from "../../db/session/interrupt-on.js";
import type { Lake } from "../../lake/lake.js";
import { openReader, type Reader } from "../../lake/open-reader.js";
import type { LakeState } from "./lake-states.js";
import { lockSession } from "./lock-session.js";

/** How sessions are opened, and how long one use may take. */
export interface SessionLimits {
  /** Memory of one session before it spills, in DuckDB's notation. @default "128MB" */
  readonly memoryLimit?: string;
  /** Threads of one session. @default 2 */
  readonly threads?: number;
  /** Milliseconds after which a use is ended. @default 60000 */
  readonly timeLimitMs?: number;
}

/** A use of a session. */
export interface SessionUse {
  /** Ends the use, because the page was closed. */
  readonly signal: AbortSignal;
  /**
   * Whether a user wrote the statements. They may leave tables behind, so the session is not used again. @default false
   */
  readonly isForeign?: boolean;
}

/** Work with a session, until the signal aborts. */
type Work<T> = (reader: Reader, signal: AbortSignal) => Promise<T>;

/** Most sessions at the same time. Each has a database with separate memory. */
const MOST_OPEN = 3;
/** Most sessions that run statements of users, so that charts and tables need not wait for these. */
const MOST_FOREIGN = 2;

interface OpenSession {
  readonly reader: Reader;
  readonly stateId: string;
}

/** A number of permits, given in the order of the requests. */
class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return {
      [Symbol.dispose]: () => {
        const next = this.#waiting.shift();
        if (next === undefined) this.#free += 1;
        else next();
      },
    };
  }
}

/**
 * Locked sessions over the states of a lake. They are reused while pages show the same state. It is a class because it
 * owns the sessions.
 */
export class SessionReaders implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #limits: Required<SessionLimits>;
  /** Idle sessions, the least recently used first. */
  #idle: OpenSession[] = [];
  readonly #permits = new Permits(MOST_OPEN);
  readonly #foreign = new Permits(MOST_FOREIGN);
  readonly #uses = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(lake: Lake, clock: Clock, limits: SessionLimits = {}) {
    this.#lake = lake;
    this.#clock = clock;
    this.#limits = { memoryLimit: "128MB", threads: 2, timeLimitMs: 60_000, ...limits };
  }

  /**
   * Runs `work` with a session over a state, and waits for one if all are in use. `work` also gets a signal, which
   * aborts when the time is up, when the use ends, or when the workspace closes. Statements are then interrupted;
   * `work` must end everything else that it waits for.
   *
   * @throws {QueryError} where the time is up; the signal's reason where it aborts.
   */
  use<T>(state: LakeState, use: SessionUse, work: Work<T>): Promise<T> {
    const running = this.#run(state, use, work);
    const settled = running.catch(() => {});
    this.#uses.add(settled);
    void settled.finally(() => this.#uses.delete(settled));
    return running;
  }

  /** Stops the running work, and closes the sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new QueryError("the workspace is closing", ""));
    await Promise.all(this.#uses);
    for (const { reader } of this.#idle.splice(0)) reader[Symbol.dispose]();
  }

  async #run<T>(state: LakeState, use: SessionUse, work: Work<T>): Promise<T> {
    using _ = await this.#permit(use);
    const signal = AbortSignal.any([use.signal, this.#closing.signal]);
    signal.throwIfAborted();
    const at = this.#idle.findLastIndex(({ stateId }) => stateId === state.id);
    const [known] = at < 0 ? [] : this.#idle.splice(at, 1);
    if (known === undefined && this.#idle.length >= MOST_OPEN - 1)
      this.#idle.shift()?.reader[Symbol.dispose]();
    const open = known ?? { reader: await this.#open(state), stateId: state.id };
    let isWhole = false;
    try {
      const value = await this.#limited(open.reader, signal, work);
      isWhole = use.isForeign !== true;
      return value;
    } finally {
      // After a failure the session may be in any state, so it is not used again.
      if (isWhole && !this.#closing.signal.aborted) this.#giveBack(open);
      else open.reader[Symbol.dispose]();
    }
  }

  async #permit({ isForeign = false }: SessionUse): Promise<Disposable> {
    const foreign = isForeign ? await this.#foreign.take() : undefined;
    const permit = await this.#permits.take();
    return {
      [Symbol.dispose]: () => {
        permit[Symbol.dispose]();
        foreign?.[Symbol.dispose]();
      },
    };
  }

  #giveBack(open: OpenSession): void {
    this.#idle.push(open);
    while (this.#idle.length > MOST_OPEN) this.#idle.shift()?.reader[Symbol.dispose]();
  }

  async #limited<T>(reader: Reader, signal: AbortSignal, work: Work<T>): Promise<T> {
    const { timeLimitMs } = this.#limits;
    const limit = new AbortController();
    const done = new AbortController();
    void this.#clock.sleep(timeLimitMs, done.signal).then(
      () =>
        limit.abort(
          new QueryError(`it took longer than ${timeLimitMs / 1000} s, and was stopped`, "", {
            hint: "narrow it down by symbol or date; barlake sql has no limit of time",
          }),
        ),
      () => {},
    );
    const either = AbortSignal.any([signal, limit.signal]);
    using _ = interruptOn(reader.session, either);
    try {
      const value = await work(reader, either);
      // An interrupted statement may look like one that has ended, although its result is not complete.
      either.throwIfAborted();
      return value;
    } catch (error) {
      // The signal's reason is more precise than the error of the interrupted statement.
      either.throwIfAborted();
      throw error;
    } finally {
      done.abort();
    }
  }

  async #open(state: LakeState): Promise<Reader> {
    const { memoryLimit, threads } = this.#limits;
    const reader = await openReader(this.#lake, { memoryLimit, threads }, state.pointInTime);
    try {
      await lockSession(reader.session, this.#lake, reader.snapshots);
      return reader;
    } catch (error) {
      reader[Symbol.dispose]();
      throw error;
    }
  }
}
