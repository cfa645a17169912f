import { MINUTE_MS } from "../../../src/core/time.js";
import { slidingWindow } from "../../client/simulated-service.js";

/** Others who send requests with the same key, from the beginning of a life on. */
export interface OtherUsers {
  readonly perMinute: number;
  readonly forMs: number;
}

/** A request was refused for the quota though this client had not used it up: whether the service says how long to wait. */
export type OthersOutcome = "quota used by others, with a wait" | "quota used by others, without a wait";

/** What a service makes of a request that arrives now. */
export interface Count {
  /** 0 where it may pass, else the milliseconds to wait. */
  readonly waitMs: number;
  /** Whether it would have passed without the others. */
  readonly isOthers: boolean;
}

/** Counts the requests of a group of endpoints, of this client and of others. @param start of the others' use. */
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
