import { QueryError } from "../../core/errors.js";
import { Permits } from "../../core/permits.js";
import type { Clock } from "../../core/time.js";
import { interruptOn } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import type { LakeState } from "./lake-states.js";
import { openLocked } from "./open-locked.js";
import { type SessionLimits, sessionLimits, timeLimit } from "./session-limits.js";

/** A use of a session. */
interface SessionUse {
  /** Ends the use, because the page was closed. */
  readonly signal: AbortSignal;
}

/** Work with a session, until the signal aborts. */
type Work<T> = (reader: Reader, signal: AbortSignal) => Promise<T>;

/** Most sessions at the same time. Each has a database with separate memory. */
const MOST_OPEN = 3;

interface OpenSession {
  readonly reader: Reader;
  readonly stateId: string;
}

/**
 * Locked sessions over the states of a lake, for the workspace's own statements: those of users run in another process.
 * Sessions are reused while pages show the same state. It is a class because it owns the sessions.
 */
export class SessionReaders implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #limits: Required<SessionLimits>;
  /** Idle sessions, the least recently used first. */
  #idle: OpenSession[] = [];
  readonly #permits = new Permits(MOST_OPEN);
  readonly #uses = new Set<Promise<unknown>>();
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
    using _ = await this.#permits.take();
    const signal = AbortSignal.any([use.signal, this.#closing.signal]);
    signal.throwIfAborted();
    const at = this.#idle.findLastIndex(({ stateId }) => stateId === state.id);
    const [known] = at < 0 ? [] : this.#idle.splice(at, 1);
    if (known === undefined && this.#idle.length >= MOST_OPEN - 1)
      this.#idle.shift()?.reader[Symbol.dispose]();
    const open = known ?? {
      reader: await openLocked(this.#lake, this.#limits, state.pointInTime),
      stateId: state.id,
    };
    let isWhole = false;
    try {
      const value = await this.#limited(open.reader, signal, work);
      isWhole = true;
      return value;
    } finally {
      // After a failure the session may be in any state, so it is not used again.
      if (isWhole && !this.#closing.signal.aborted) this.#giveBack(open);
      else open.reader[Symbol.dispose]();
    }
  }

  #giveBack(open: OpenSession): void {
    this.#idle.push(open);
    while (this.#idle.length > MOST_OPEN) this.#idle.shift()?.reader[Symbol.dispose]();
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
