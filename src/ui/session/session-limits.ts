import { QueryError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";

/** How sessions are opened, and how much one use may take. */
export interface SessionLimits {
  /** Memory of one session before it spills, in DuckDB's notation. @default "128MB" */
  readonly memoryLimit?: string;
  /** Threads of one session. @default 2 */
  readonly threads?: number;
  /** Milliseconds after which a use is ended. @default 60000 */
  readonly timeLimitMs?: number;
  /**
   * Bytes of memory at which a process that runs statements of users is ended. DuckDB's limit does not count texts,
   * lists and other values while a function makes them, and JavaScript's copies of values are not part of it either.
   *
   * @default 1 GiB: the program has 0.1 GiB of it and DuckDB's limit 0.125 GiB, so that several times the limit remain
   *   for what DuckDB does not count. Two such processes and the workspace fit into a machine of 4 GB.
   */
  readonly processBytes?: number;
}

/** What helps where a statement needs too much memory. */
export const NARROWER = "narrow it down by symbol or date, or to fewer columns and shorter texts";

export function sessionLimits(limits: SessionLimits = {}): Required<SessionLimits> {
  return { memoryLimit: "128MB", threads: 2, timeLimitMs: 60_000, processBytes: 2 ** 30, ...limits };
}

/** A signal that aborts when a use has taken too long, with an error that says so, until it is disposed. */
export function timeLimit(
  clock: Clock,
  { timeLimitMs }: Required<SessionLimits>,
): Disposable & {
  readonly signal: AbortSignal;
} {
  const limit = new AbortController();
  const done = new AbortController();
  void clock.sleep(timeLimitMs, done.signal).then(
    () =>
      limit.abort(
        new QueryError(`it took longer than ${timeLimitMs / 1000} s, and was stopped`, "", {
          hint: "narrow it down by symbol or date; barlake sql has no limit of time",
        }),
      ),
    () => {},
  );
  return { signal: limit.signal, [Symbol.dispose]: () => done.abort() };
}

/** The error of a process that needed too much memory. */
export function memoryError({ processBytes }: Required<SessionLimits>): QueryError {
  const mib = Math.round(processBytes / 2 ** 20);
  const size = mib % 1024 === 0 ? `${mib / 1024} GiB` : `${mib} MiB`;
  return new QueryError(`it needed more than ${size} of memory, and was stopped`, "", {
    hint: `${NARROWER}; barlake sql has no such limit`,
  });
}
