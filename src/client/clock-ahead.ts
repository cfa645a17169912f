import { BarlakeError } from "../core/errors.js";
import { MINUTE_MS } from "../core/time.js";

/** Clocks differ a little, and a `Date` header has whole seconds. */
const MOST_AHEAD_MS = 5 * MINUTE_MS;

/** When a request was sent, by this machine's clock, and the headers of its response that give the service's time. */
export interface ResponseTimes {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly date: string | undefined;
  /** Seconds that the response was in a cache. */
  readonly age: string | undefined;
}

/**
 * Checks that this machine's clock is not ahead of the service's: otherwise bars that still change would be final, and
 * days that have not happened would count as days without bars.
 *
 * @param what names the request.
 * @throws {BarlakeError} where it is ahead. A response without a valid `Date` header says nothing about it.
 */
export function expectClockNotAhead(what: string, { sentAt, date, age }: ResponseTimes): void {
  const writtenAt = Date.parse(date ?? "");
  const theirs = writtenAt + 1000 * (Number(age) || 0);
  if (Number.isNaN(theirs) || sentAt - theirs <= MOST_AHEAD_MS) return;
  const minutes = Math.round((sentAt - theirs) / MINUTE_MS);
  const times = [sentAt, theirs].map((ms) => new Date(ms).toISOString());
  throw new BarlakeError(
    `${what}: this machine's clock is ${minutes} min ahead of the service's: it was ${times[0]} here when the request was sent, and ${times[1]} there (Date header) at the response`,
    {
      hint: "set the clock that is wrong, and run again: with a clock ahead, bars that still change would count as final",
    },
  );
}
