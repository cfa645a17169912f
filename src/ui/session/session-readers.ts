import { QueryError } from "../../core/errors.js";
import { KeyedPool } from "../../core/keyed-pool.js";
import type { Clock } from "../../core/time.js";
import { interruptOn } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import type { LakeState } from "./lake-states.js";
import { openLocked } from "./open-locked.js";
import { type SessionLimits, sessionLimits, timeLimit } from "./session-limits.js";

interface SessionUse {
  /** Ends the use, because the page was closed. */
  readonly signal: AbortSignal;
}

/** Work with a session, until the signal aborts. */
type Work<T> = (reader: Reader, signal: AbortSignal) => Promise<T>;

/** Most sessions at the same time. Each has a database with separate memory. */
const MOST_OPEN = 3;

/**
 * Locked sessions over the states of a lake, for the workspace's own statements: those of users run in another
 * process. Sessions are reused while pages show the same state.
 */
export class SessionReaders implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #limits: Required<SessionLimits>;
  readonly #pool = new KeyedPool<Reader>({
    atOnce: MOST_OPEN,
    mostOpen: MOST_OPEN,
    close: (reader) => reader[Symbol.dispose](),
  });
  readonly #closing = new AbortController();

  constructor(lake: Lake, clock: Clock, limits?: SessionLimits) {
    this.#lake = lake;
    this.#clock = clock;
    this.#limits = sessionLimits(limits);
  }

  /**
   * Runs `work` with a session over a state, and waits for one if all are in use. `work` also gets a signal, which
   * aborts when the time is up, when the use ends, or when the workspace closes. Statements are then interrupted;
   * `work` must end everything else that it waits for.
   *
   * @throws {QueryError} where the time is up; the signal's reason where it aborts.
   */
  async use<T>(state: LakeState, use: SessionUse, work: Work<T>): Promise<T> {
    using _ = await this.#pool.turn();
    const signal = AbortSignal.any([use.signal, this.#closing.signal]);
    signal.throwIfAborted();
    using open = await this.#pool.take(state.id, () =>
      openLocked(this.#lake, this.#limits, state.pointInTime),
    );
    try {
      return await this.#limited(open.value, signal, work);
    } catch (error) {
      // After a failure the session may be in any state.
      open.discard();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new QueryError("the workspace is closing", ""));
    await this.#pool.close();
  }

  async #limited<T>(reader: Reader, signal: AbortSignal, work: Work<T>): Promise<T> {
    using limit = timeLimit(this.#clock, this.#limits);
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
    }
  }
}
