import { BarlakeError } from "../core/errors.js";
import { DAY_MS, MINUTE_MS } from "../core/time.js";

/** Clocks differ a little, and a `Date` header has whole seconds. */
const MOST_AHEAD_MS = 5 * MINUTE_MS;
/** A service's time that is further behind this machine's is not used. */
const MOST_USABLE_MS = DAY_MS;

/** This machine's clock is ahead of the service's. */
export class ClockAheadError extends BarlakeError {
  readonly aheadMs: number;

  constructor(message: string, aheadMs: number) {
    super(message, {
      hint: "set the clock that is wrong, and run again: with a clock ahead, bars that still change would count as final",
    });
    this.aheadMs = aheadMs;
  }

  /** Whether a run may use the service's time instead of this machine's. */
  get isUsable(): boolean {
    return this.aheadMs <= MOST_USABLE_MS;
  }
}

/** When a request was sent, by this machine's clock, and the headers of its response that give the service's time. */
interface ResponseTimes {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly date: string | undefined;
  /** Seconds that the response was in a cache. */
  readonly age: string | undefined;
  /** By how many milliseconds this machine's clock is known to be ahead: the caller does not rely on it. */
  readonly knownAheadMs?: number | undefined;
}

/**
 * Checks that this machine's clock is not ahead of the service's: otherwise bars that still change would be final, and
 * days that have not happened would count as days without bars.
 *
 * @param what names the request.
 * @throws {ClockAheadError} where it is ahead. A response without a valid `Date` header says nothing about it.
 */
export function expectClockNotAhead(
  what: string,
  { sentAt, date, age, knownAheadMs = 0 }: ResponseTimes,
): void {
  const writtenAt = Date.parse(date ?? "");
  const theirs = writtenAt + 1000 * (Number(age) || 0);
  if (Number.isNaN(theirs) || sentAt - theirs <= knownAheadMs + MOST_AHEAD_MS) return;
  const minutes = Math.round((sentAt - theirs) / MINUTE_MS);
  const times = [sentAt, theirs].map((ms) => new Date(ms).toISOString());
  throw new ClockAheadError(
    `${what}: this machine's clock is ${minutes} min ahead of the service's: it was ${times[0]} here when the request was sent, and ${times[1]} there (Date header) at the response`,
    sentAt - theirs,
  );
}
