import { MINUTE_MS } from "../../core/time.js";

/**
 * When a service that counts in fixed minutes begins a new minute, as far as refusals have shown: after `after` and no
 * later than `until`, and whole minutes before and after that. Epoch milliseconds.
 */
export interface MinuteTurn {
  readonly after: number;
  readonly until: number;
  /** Number of waits that ended in this span. */
  readonly seen: number;
}

/** Consecutive refusals that did not state how long to wait. */
export interface Refusals {
  /** Number of refusals. Requests that were sent together count as one. */
  readonly count: number;
  /** When the first was received, as epoch milliseconds. */
  readonly since: number;
  /** When the oldest request that the service may have counted stops counting, as epoch milliseconds. */
  readonly turnsOverAt: number;
}

/**
 * Pauses after the first of several refusals double from the shortest, up to the longest that is still precise;
 * milliseconds.
 */
const FIRST_PAUSE_MS = 1000;
const PRECISE_PAUSE_MS = 8000;
/**
 * Longest pause in milliseconds, if the refusals lasted longer than a minute: then something else than a minute's quota
 * causes them.
 */
const MAX_PAUSE_MS = MINUTE_MS / 2;
/** The clocks of two machines drift apart by less than this within a minute, in milliseconds. */
const DRIFT_MS = 25;
/** A span is used only if it is at most this long, in milliseconds, and this number of waits has ended in it. */
const BELIEVED_MS = 10_000;
const BELIEVED_SEEN = 2;
/**
 * A span is tested in steps of the longest assumed time of a request's way to the service, but in at most this number
 * of steps.
 */
const ARRIVAL_MS = 1000;
const MOST_STEPS = 4;

/**
 * Learns from the end of a wait. A wait that ends at another time of the minute disproves the known span.
 *
 * @param refusedAt when the last refused request was sent.
 * @param passed when the first accepted request was sent, and when its response began.
 */
export function afterWait(
  known: MinuteTurn | undefined,
  refusedAt: number,
  passed: { readonly sentAt: number; readonly respondedAt: number },
): MinuteTurn | undefined {
  const { sentAt, respondedAt } = passed;
  if (respondedAt - refusedAt >= MINUTE_MS) return known;
  const found = { after: refusedAt, until: respondedAt, seen: 1 };
  if (known === undefined) return found;
  const { after, until, seen } = turnBefore(known, respondedAt);
  const both = { after: Math.max(after, refusedAt), until: Math.min(until, respondedAt), seen: seen + 1 };
  return both.after < both.until && sentAt > after - ARRIVAL_MS / 2 ? both : found;
}

/**
 * Learns from one of several consecutive refusals. If it comes after the span in which they should have ended, the
 * service counts in another way, or at other times.
 */
export function afterRefusedTest(
  known: MinuteTurn | undefined,
  since: number,
  refusedAt: number,
): MinuteTurn | undefined {
  if (known === undefined) return undefined;
  const { after, until } = turnBefore(known, refusedAt);
  return since < after && refusedAt >= until ? undefined : known;
}

/** When a request tests whether the refusals have ended, in epoch milliseconds. */
export function testAt(
  known: MinuteTurn | undefined,
  { count, since, turnsOverAt }: Refusals,
  now: number,
): number {
  const isBeyondMinute = now - since > MINUTE_MS;
  const most = isBeyondMinute ? MAX_PAUSE_MS : PRECISE_PAUSE_MS;
  const pauseMs = Math.min(most, FIRST_PAUSE_MS * 2 ** (count - 1));
  if (count < 2 || isBeyondMinute) return now + pauseMs;
  const ends = known === undefined ? [] : stepsOf(known, now);
  const likely = Math.min(...[...ends, turnsOverAt].filter((at) => at > now));
  const isBelieved =
    known !== undefined && known.seen >= BELIEVED_SEEN && known.until - known.after <= BELIEVED_MS;
  return isBelieved && ends.length > 0 ? likely : Math.min(likely, now + pauseMs);
}

/**
 * The times at which a request shows more about this minute's span and the next one's. The first is before the span: a
 * request that is accepted there disproves the span. Without it, waits would last until the span although they could
 * end earlier.
 */
function stepsOf(known: MinuteTurn, now: number): number[] {
  const { after, until } = turnBefore(known, now + MINUTE_MS);
  const steps = Math.min(MOST_STEPS, Math.ceil((until - after) / ARRIVAL_MS));
  const times = Array.from({ length: steps }, (_, k) => until - ((until - after) * k) / steps);
  return [after - ARRIVAL_MS, ...times].flatMap((at) => [at - MINUTE_MS, at]);
}

/** The last span that begins before a time, extended by the clock drift since it was found. */
function turnBefore({ after, until, seen }: MinuteTurn, time: number): MinuteTurn {
  const minutes = Math.floor((time - after) / MINUTE_MS);
  const drift = Math.abs(minutes) * DRIFT_MS;
  return {
    after: after + minutes * MINUTE_MS - drift,
    until: until + minutes * MINUTE_MS + drift,
    seen,
  };
}
