import { MINUTE_MS } from "../../core/time.js";

/** A request that was sent under a quota. */
export interface Send {
  /** When it was sent, in epoch milliseconds. Adjusted if the request is sent later than it was permitted. */
  sentAt: number;
  /** When its response began, or its failure was known, as epoch milliseconds; undefined while it is in flight. */
  respondedAt?: number;
  /** Whether the service refused it because of the quota. Refused requests do not count. */
  isRefused?: boolean;
}

/**
 * Longest assumed time of a request's way to the service, in milliseconds. Usually a shorter bound is known, because a
 * response cannot begin before its request has arrived.
 */
export const MAX_ARRIVAL_MS = 1000;
/** The clocks of two machines differ by less than this within a minute, in milliseconds. */
const CLOCK_MARGIN_MS = 25;

/**
 * When one more request may be sent (epoch milliseconds; `-Infinity` where it may be sent at once), so that the service
 * sees no more requests than the limit in any minute, wherever the minute begins. This is safe for services that count
 * in fixed minutes, in sliding minutes, or with a token bucket for one minute.
 *
 * @param sends ascending by `sentAt`.
 * @param limit requests per minute; below 1 it means one request in `1 / limit` minutes.
 */
export function freeAt(sends: readonly Send[], limit: number): number {
  const leaving = nthNewestArrival(sends, Math.max(1, Math.floor(limit)));
  return leaving === undefined ? Number.NEGATIVE_INFINITY : leaving + spanOf(limit);
}

/**
 * The nth newest of the latest possible arrivals; undefined where there are fewer. Arrivals are sorted only near the
 * nth newest send: all newer sends arrive after that one was sent, and at least one of the n newest arrives within
 * {@link MAX_ARRIVAL_MS} of it.
 */
function nthNewestArrival(sends: readonly Send[], nth: number): number | undefined {
  if (sends.length < nth) return undefined;
  let first = sends.length;
  for (let counted = 0; counted < nth; ) {
    const send = sends[--first];
    if (send === undefined) return undefined;
    if (send.isRefused !== true) counted++;
  }
  const sentAt = (sends[first] as Send).sentAt;
  while (first > 0 && (sends[first - 1] as Send).sentAt >= sentAt - MAX_ARRIVAL_MS) first--;
  const near: number[] = [];
  let later = 0;
  for (let i = first; i < sends.length; i++) {
    const send = sends[i] as Send;
    if (send.isRefused === true) continue;
    if (send.sentAt > sentAt + MAX_ARRIVAL_MS) later++;
    else near.push(latestArrival(send));
  }
  return near.sort((a, b) => b - a)[nth - later - 1];
}

/** Number of requests in the minute up to `now`, including those in flight, without refused ones. */
export function usedInMinute(sends: readonly Send[], now: number): number {
  return sends.filter(
    ({ sentAt, isRefused }) => isRefused !== true && sentAt > now - MINUTE_MS && sentAt <= now,
  ).length;
}

/**
 * Number of requests in a log that may have counted when one of them reached the service: those that were sent before
 * it within a minute. Refused requests do not count.
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
 * The part of a log that still counts. A send in the future means that the clock was set back. It is dropped, because
 * otherwise all requests would wait until the clock reaches it.
 */
export function recentSends(sends: readonly Send[], limit: number | undefined, now: number): Send[] {
  const since = now - spanOf(limit ?? 1) - MAX_ARRIVAL_MS;
  return sends.filter(({ sentAt }) => sentAt > since && sentAt <= now);
}

function latestArrival({ sentAt, respondedAt = Number.POSITIVE_INFINITY }: Send): number {
  return Math.min(respondedAt, sentAt + MAX_ARRIVAL_MS);
}

/** Milliseconds in which the limit's requests (rounded down, at least one) may be sent. */
function spanOf(limit: number): number {
  return MINUTE_MS / Math.min(1, limit) + CLOCK_MARGIN_MS;
}
