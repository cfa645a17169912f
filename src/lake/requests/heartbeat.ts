import { stat } from "node:fs/promises";
import { hostname } from "node:os";
import { isRunning } from "../../core/running-process.js";
import type { Clock } from "../../core/time.js";

/** Time between two heartbeats of a process: the modification times of a file that it owns. */
export const HEARTBEAT_MS = 5000;
/** A process without a heartbeat for this time counts as ended. */
const STALE_MS = 60_000;

/** The process that owns a file. */
export interface FileOwner {
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
}

/**
 * Whether the process that owns a file is alive, as far as can be seen. A process of this machine that has no heartbeat,
 * and still runs, gets the time of two: after a suspend of the machine, or a step of its clock, the next one comes late.
 * A process that reuses the id of one that ended sends none.
 *
 * @param now the time of the file system, in epoch milliseconds.
 * @throws where the file is missing.
 */
export async function isOwnerAlive(
  path: string,
  { host, pid }: FileOwner,
  now: number,
  clock: Pick<Clock, "sleep">,
): Promise<boolean> {
  const isHere = host === hostname();
  if (isHere && !isRunning(Number(pid))) return false;
  const { mtimeMs } = await stat(path);
  if (now - mtimeMs <= STALE_MS) return true;
  if (!isHere) return false;
  await clock.sleep(2 * HEARTBEAT_MS);
  return (await stat(path)).mtimeMs !== mtimeMs;
}
