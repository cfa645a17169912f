import { MINUTE_MS } from "../../../../src/core/time.js";
import { slidingWindow } from "../../../client/simulated-service.js";

/** Other users who send requests with the same key, from the start of a life. */
export interface OtherUsers {
  readonly perMinute: number;
  readonly forMs: number;
}

/** A refusal although this client had not used up the quota, with or without the time to wait. */
export type OthersOutcome = "quota used by others, with a wait" | "quota used by others, without a wait";

/** The service's decision about a request that arrives now. */
export interface Count {
  /** 0 if it is accepted, otherwise the milliseconds to wait. */
  readonly waitMs: number;
  /** Whether it would have been accepted without the other users. */
  readonly isOthers: boolean;
}

/** Counts the requests of a group of endpoints, by this client and by others. @param start start of the others' use. */
export function sharedQuota(
  limit: number,
  others: OtherUsers | undefined,
  start: number,
): (now: number) => Count {
  const count = slidingWindow(limit);
  const own: number[] = [];
  const everyMs = others === undefined ? Number.POSITIVE_INFINITY : MINUTE_MS / others.perMinute;
  const end = start + (others?.forMs ?? 0);
  let next = start;
  return (now) => {
    for (; next <= now && next < end; next += everyMs) count(next);
    const waitMs = count(now);
    if (waitMs === 0) own.push(now);
    return { waitMs, isOthers: waitMs > 0 && own.filter((at) => at > now - MINUTE_MS).length < limit };
  };
}
