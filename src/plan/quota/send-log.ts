import { MINUTE_MS } from "../../core/time.js";

/** A request that was sent under a quota. */
export interface Send {
  /** Epoch milliseconds; moved where the request is sent later than it was permitted. */
  sentAt: number;
  /** When its response began, or its failure was known, as epoch milliseconds; undefined while it is in flight. */
  respondedAt?: number;
  /** Whether the service refused it for the quota: refused requests do not count. */
  isRefused?: boolean;
}

/**
 * Longest assumed time of a request's way to the service. Usually a shorter bound is known, because a response cannot
 * begin before its request has arrived.
 */
export const MAX_ARRIVAL_MS = 1000;
/** The clocks of two machines differ by less than this in a minute. */
const CLOCK_MARGIN_MS = 25;

/**
 * When one more request may be sent, so that the service sees no more than the limit in any minute, wherever the minute
 * begins: epoch milliseconds, `-Infinity` where it may be sent at once. This is safe for services that count in fixed
 * minutes, in sliding ones, or by tokens of which they save up a minute's worth.
 *
 * @param sends ascending by `sentAt`.
 * @param limit requests a minute; below 1: one request in `1 / limit` minutes.
 */
export function freeAt(sends: readonly Send[], limit: number): number {
  const leaving = nthNewestArrival(sends, Math.max(1, Math.floor(limit)));
  return leaving === undefined ? Number.NEGATIVE_INFINITY : leaving + spanOf(limit);
}

/**
 * The nth newest of the latest arrivals. Arrivals are sorted only near the nth newest send: all newer sends arrive after
 * that one was sent, and at least one of the n newest within {@link MAX_ARRIVAL_MS} of it.
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
 * Number of requests in a log that may have counted when one of them reached the service: those sent before it whose
 * minute was not over. Refused requests do not count.
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
 * The part of a log that still counts. A send in the future shows that the clock was set back: it is dropped, because
 * otherwise all requests would wait for the clock to reach it.
 */
export function recentSends(sends: readonly Send[], limit: number | undefined, now: number): Send[] {
  const since = now - spanOf(limit ?? 1) - MAX_ARRIVAL_MS;
  return sends.filter(({ sentAt }) => sentAt > since && sentAt <= now);
}

function latestArrival({ sentAt, respondedAt = Number.POSITIVE_INFINITY }: Send): number {
  return Math.min(respondedAt, sentAt + MAX_ARRIVAL_MS);
}

/** Time in which the limit's requests (rounded down, at least one) may be sent. */
function spanOf(limit: number): number {
  return MINUTE_MS / Math.min(1, limit) + CLOCK_MARGIN_MS;
}
