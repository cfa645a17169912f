import { MINUTE_MS } from "../../core/time.js";

/** A request that was sent under a quota. */
export interface Send {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  /** When its answer began, or its failure was known, as epoch milliseconds; undefined while it is under way. */
  respondedAt?: number;
  /** Whether the service refused it for the quota: what is refused does not count. */
  isRefused?: boolean;
}

/**
 * Longest time that a request is believed to need to reach the service. Mostly a shorter one is known, as an answer
 * cannot begin before its request is there.
 */
const MAX_ARRIVAL_MS = 1000;
/** Clocks of two machines run apart by less than this in a minute. */
const CLOCK_MARGIN_MS = 25;

/**
 * When one more request may be sent, so that the service sees no more than the limit in any minute, wherever it begins
 * to count: epoch milliseconds, `-Infinity` where nothing stands in the way. That holds for a service that counts in
 * fixed minutes, in sliding ones, or by tokens of which it saves up a minute's worth.
 *
 * @param limit requests a minute; below 1, one request in so much longer a time.
 */
export function freeAt(sends: readonly Send[], limit: number): number {
  const most = Math.max(1, Math.floor(limit));
  if (sends.length < most) return Number.NEGATIVE_INFINITY;
  const arrivals = sends.filter(({ isRefused }) => isRefused !== true).map(latestArrival);
  const leaving = arrivals.sort((a, b) => b - a)[most - 1];
  return leaving === undefined ? Number.NEGATIVE_INFINITY : leaving + spanOf(limit);
}

/** Requests in the minute up to `now`, those under way included and those that were refused left out. */
export function usedInMinute(sends: readonly Send[], now: number): number {
  return sends.filter(
    ({ sentAt, isRefused }) => isRefused !== true && sentAt > now - MINUTE_MS && sentAt <= now,
  ).length;
}

/**
 * Requests of a log that may have counted when one of them reached the service: those sent before it whose minute was
 * not over. Requests that were refused do not count.
 */
export function countedAt(sends: readonly Send[], send: Send): number {
  const since = send.sentAt - MINUTE_MS;
  let counted = 0;
  for (const other of sends) {
    if (other === send) break;
    if (other.isRefused !== true && latestArrival(other) > since) counted++;
  }
  return counted;
}

/**
 * The part of a log that still counts. A send that lies ahead shows that the clock was set back: it is dropped, lest
 * everything wait for the clock to be there again.
 */
export function recentSends(sends: readonly Send[], limit: number | undefined, now: number): Send[] {
  const since = now - spanOf(limit ?? 1) - MAX_ARRIVAL_MS;
  return sends.filter(({ sentAt }) => sentAt > since && sentAt <= now);
}

function latestArrival({ sentAt, respondedAt = Number.POSITIVE_INFINITY }: Send): number {
  return Math.min(respondedAt, sentAt + MAX_ARRIVAL_MS);
}

/** Time in which the limit's requests, rounded down to one or more, may be sent. */
function spanOf(limit: number): number {
  return MINUTE_MS / Math.min(1, limit) + CLOCK_MARGIN_MS;
}
