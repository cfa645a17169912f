import type { Clock } from "../../core/time.js";
import type { ReplayClock } from "./replay-clock.js";

/** Longest and shortest wait, in milliseconds. */
const LONGEST_MS = 1000;
const SHORTEST_MS = 10;

/**
 * Waits until the replayed time passes the next whole minute, or is set, but at most a second.
 *
 * @param sleep sleeps real time.
 */
export async function nextMinute(
  replay: ReplayClock,
  sleep: Clock["sleep"],
  signal: AbortSignal,
): Promise<void> {
  const set = new AbortController();
  const end = replay.onSet(() => set.abort());
  try {
    const wait = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(replay.untilNextMinute())));
    await sleep(wait, AbortSignal.any([signal, set.signal]));
  } catch (error) {
    if (signal.aborted || !set.signal.aborted) throw error;
  } finally {
    end();
  }
}
