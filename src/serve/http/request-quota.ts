/** Length of the quota's time window. */
const MINUTE_MS = 60_000;

/** Counts the requests of each key over the last minute. */
export interface RequestQuota {
  /** Counts a request. @returns 0, or the milliseconds to wait where the key's quota is used up. */
  take(caller: string, now: number, requestsPerMinute: number): number | Promise<number>;
  /** Gives up what it shares with others. @default nothing */
  close?(): Promise<void>;
}

/** A count that asks nobody. */
export interface LocalQuota extends RequestQuota {
  take(caller: string, now: number, requestsPerMinute: number): number;
}

/** A quota of requests per key in any minute, of this process alone; a refused request does not count. */
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
