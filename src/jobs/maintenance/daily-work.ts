import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import { z } from "zod";
import { type Clock, DAY_MS } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";

/** Work on a lake that is due once a day, whichever machine does it. */
export interface DailyWork<Report> {
  /** When it is due next, in epoch milliseconds. */
  dueAt(): Promise<number>;
  run(signal: AbortSignal): Promise<Report>;
}

const lastDone = z.object({ at: z.iso.datetime() });

/**
 * Work that is due a day after it was last done, and an hour after an attempt that failed.
 *
 * @param file the file of the lake that states when it was last done; the work writes it with {@link recordDone}.
 */
export function dailyWork<Report>(
  { storage }: Lake,
  file: string,
  clock: Pick<Clock, "now">,
  work: (signal: AbortSignal) => Promise<Report>,
): DailyWork<Report> {
  let notBefore = 0;
  return {
    async dueAt() {
      const now = clock.now();
      // A later time was set while the clock was ahead.
      const retryAt = notBefore > now + HOUR_MS ? 0 : notBefore;
      const last = await lastDoneAt(storage, file, now);
      return Math.max(retryAt, last === undefined ? 0 : last + DAY_MS);
    },
    run(signal) {
      notBefore = clock.now() + HOUR_MS;
      return work(signal);
    },
  };
}

/** When work was last done; undefined where this is unknown, or is later than now because the clock was ahead. */
export async function lastDoneAt(
  storage: Lake["storage"],
  file: string,
  now: number,
): Promise<number | undefined> {
  try {
    const at = Date.parse(lastDone.parse(JSON.parse((await storage.readText(file)) ?? "")).at);
    return at <= now ? at : undefined;
  } catch {
    return undefined;
  }
}

/** Records that work was done. @param now epoch milliseconds. */
export async function recordDone(storage: Lake["storage"], file: string, now: number): Promise<void> {
  await storage.put(file, `${JSON.stringify({ at: new Date(now).toISOString() })}\n`);
}
