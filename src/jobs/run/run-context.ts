import type { ServiceClient } from "../../client/service-client.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Rejects } from "../../lake/land/rejects.js";
import type { LandOptions } from "../../lake/land/upsert.js";
import type { FreeBytes } from "../../lake/local/free-space.js";
import type { Fence } from "../../lake/log/fence.js";
import type { Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import type { RequestSizeLimits } from "./request/request-size-limits.js";

/** Smaller shifts are ordinary adjustments of the clock, not a set clock. */
const CLOCK_SET_MS = 5000;

/** The parts that a run is given. */
export interface RunParts {
  readonly lake: Lake;
  readonly session: Session;
  /** What the run sets aside. */
  readonly rejects: Rejects;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  /** Aborts when the user interrupts the run. */
  readonly signal: AbortSignal;
  /** Limits that the service has shown. */
  readonly limits: RequestSizeLimits;
  readonly freeBytes: FreeBytes;
  /** The right to ask and to land, where runs on other machines may have it. @default not needed */
  readonly fence?: Fence | undefined;
  /** By how many milliseconds this machine's clock is ahead of the service's. @default 0 */
  readonly clockAheadMs?: number | undefined;
}

/** What does not change during a run. */
export interface RunContext extends RunParts {
  /** The earlier of this machine's time and the service's: the run counts nothing as past that is later. */
  readonly marketClock: Pick<Clock, "now">;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** When the run began, on the monotonic clock. */
  readonly startedTicks: number;
  /**
   * Ends of the final bars when the run began, by region; bars that become final later are requested again by the next
   * run.
   */
  readonly finalEnds: Readonly<Record<Region, number>>;
}

/** The context of a run that begins now. */
export function runContext(parts: RunParts): RunContext {
  const startedAt = parts.clock.now();
  const marketClock = { now: () => parts.clock.now() - (parts.clockAheadMs ?? 0) };
  const now = marketClock.now();
  return {
    ...parts,
    marketClock,
    startedAt,
    startedTicks: ticksOf(parts.clock),
    finalEnds: { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) },
  };
}

/** Options for a landing now. */
export function landOptions({
  runId,
  clock,
  fence,
}: Pick<RunContext, "runId" | "fence"> & { readonly clock: Pick<Clock, "now"> }): LandOptions {
  return { operation: "INGEST", runId, now: clock.now(), fence };
}

/** Duration of a run so far in milliseconds; setting the machine's clock does not change it. */
export function elapsedMs({ clock, startedTicks }: Pick<RunContext, "clock" | "startedTicks">): number {
  return ticksOf(clock) - startedTicks;
}

/** By how much the machine's clock was set during a run, in milliseconds; undefined: it was not set. */
export function clockShiftMs(
  context: Pick<RunContext, "clock" | "startedAt" | "startedTicks">,
): number | undefined {
  const shift = Math.round(context.clock.now() - context.startedAt - elapsedMs(context));
  return Math.abs(shift) >= CLOCK_SET_MS ? shift : undefined;
}
