import type { Caller } from "../keys/key-ring.js";
import { RequestError } from "./request-error.js";

const MINUTE_MS = 60_000;

/** Counts the requests of each key over the last minute. */
export interface RequestQuota {
  /** Counts a request. @returns 0, or the number of milliseconds to wait where the key's quota is used up. */
  take(caller: string, now: number, requestsPerMinute: number): number | Promise<number>;
  /** Releases what the counter shares with other processes. @default nothing is shared */
  close?(): Promise<void>;
}

/** A counter that needs no other process, and so responds immediately. */
interface LocalQuota extends RequestQuota {
  take(caller: string, now: number, requestsPerMinute: number): number;
}

/** Counts in this process only, in any period of one minute. A refused request does not count. */
export function requestQuota(): LocalQuota {
  const taken = new Map<string, number[]>();
  return {
    take(caller, now, requestsPerMinute) {
      const recent = (taken.get(caller) ?? []).filter((at) => at > now - MINUTE_MS && at <= now);
      taken.set(caller, recent);
      if (recent.length < requestsPerMinute) {
        recent.push(now);
        return 0;
      }
      const leaves = recent[recent.length - requestsPerMinute] ?? now;
      return leaves + MINUTE_MS - now;
    },
  };
}

/** @param permitted requests in any minute. @default unlimited @throws {RequestError} RATE_LIMITED where they are used up. */
export async function countRequest(
  quota: RequestQuota,
  caller: Caller,
  now: number,
  permitted: number | undefined,
): Promise<void> {
  const most = caller.requestsPerMinute ?? permitted;
  const waitMs = most === undefined ? 0 : await quota.take(caller.name, now, most);
  if (waitMs === 0) return;
  const message = `more than ${most} requests in a minute; ask again in ${waitMs}ms`;
  throw new RequestError("RATE_LIMITED", message, waitMs);
}
