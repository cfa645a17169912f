import { randomInt } from "node:crypto";
import { releaseAfter } from "../core/release-after.js";
import type { Clock } from "../core/time.js";
import type { Lease, Leases, OwnLease } from "./leases.js";

/** Longest pause before a waiting process reads the leases again, in milliseconds. */
const MAX_PAUSE_MS = 100;

/** The rule that decides which leases can exist at the same time. */
export interface AcquireRule<T> {
  readonly fits: (others: readonly Lease<T>[]) => boolean;
  /** Orders the waiting leases: the first one proceeds. It must return the same in every process. */
  readonly rankOf: (content: T) => string;
  /** Throws where further waiting has no use. @param acquired the leases that others have acquired. */
  readonly expectFree: (acquired: readonly Lease<T>[]) => void;
  /** Longest pause before a waiting process reads the leases again, in milliseconds. @default 100 */
  readonly pauseMs?: number | undefined;
}

/**
 * Acquires a lease, and waits while leases of others prevent it. A process creates its lease in the state "waiting",
 * and then reads the leases of others. If its lease fits, it becomes an acquired one. Of any two processes at least one
 * sees the other, so two conflicting processes never both proceed. Of the waiting processes, the first one retains its
 * lease and reads again; the others withdraw their leases until they fit. So one of them always proceeds, however slow
 * the machine is.
 */
export async function acquireLease<T>(
  leases: Leases<T>,
  content: T,
  rule: AcquireRule<T>,
  {
    clock,
    signal,
  }: {
    readonly clock: Pick<Clock, "sleep">;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<OwnLease> {
  let lease: OwnLease | undefined;
  const acquire = async (): Promise<OwnLease> => {
    for (;;) {
      signal?.throwIfAborted();
      const others = await leases.others();
      if (rule.fits(others)) {
        if (lease === undefined) lease = await leases.add(content, { state: "waiting" });
        else if (await lease.acquire()) return lease;
        else lease = undefined;
        continue;
      }
      rule.expectFree(others.filter(({ state }) => state === "acquired"));
      const rank = rule.rankOf(content);
      const isFirst = others.every((one) => one.state === "acquired" || rank < rule.rankOf(one.content));
      if (lease !== undefined && !(isFirst && (await lease.renew()))) {
        await lease.release();
        lease = undefined;
      }
      await clock.sleep(randomInt(1, rule.pauseMs ?? MAX_PAUSE_MS), signal);
    }
  };
  let isAcquired = false;
  return releaseAfter(
    async () => {
      const acquired = await acquire();
      isAcquired = true;
      return acquired;
    },
    () => (isAcquired ? undefined : lease?.release()),
  );
}
