import type { ServiceClient } from "../../client/service-client.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Rejects } from "../../lake/land/rejects.js";
import type { LandOptions } from "../../lake/land/upsert.js";
import type { FreeBytes } from "../../lake/local/free-space.js";
import type { Fence } from "../../lake/log/fence.js";
import type { Region } from "../../market/regions.js";
import { finalEnds } from "../../market/sessions.js";
import type { TableSchema } from "../../schema/column.js";
import type { RequestSizeLimits } from "./request/request-size-limits.js";

/** Shifts below this number of milliseconds are ordinary adjustments of the clock: it was not set. */
const CLOCK_SET_MS = 5000;

export interface RunParts {
  readonly lake: Lake;
  readonly session: Session;
  readonly rejects: Rejects;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  readonly tables: readonly TableSchema[];
  /** Aborts when the user interrupts the run. */
  readonly signal: AbortSignal;
  readonly limits: RequestSizeLimits;
  readonly freeBytes: FreeBytes;
  /** The right to request and to land, which runs on other machines may have. @default no right is needed */
  readonly fence?: Fence | undefined;
  /** By how many milliseconds this machine's clock is ahead of the service's clock. @default 0 */
  readonly clockAheadMs?: number | undefined;
}

/** The parts and facts that do not change during a run. */
export interface RunContext extends RunParts {
  /** The earlier of this machine's time and the service's time. For the run, nothing after it has happened yet. */
  readonly marketClock: Pick<Clock, "now">;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The time of the monotonic clock when the run began, in milliseconds. */
  readonly startedTicks: number;
  /** End of the final bars by region when the run began. Bars that become final later are requested by the next run. */
  readonly finalEnds: Readonly<Record<Region, number>>;
}

export function runContext(parts: RunParts): RunContext {
  const startedAt = parts.clock.now();
  const marketClock = { now: () => parts.clock.now() - (parts.clockAheadMs ?? 0) };
  const now = marketClock.now();
  return {
    ...parts,
    marketClock,
    startedAt,
    startedTicks: ticksOf(parts.clock),
    finalEnds: finalEnds(now),
  };
}

export function landOptions({
  runId,
  clock,
  fence,
}: Pick<RunContext, "runId" | "fence"> & { readonly clock: Pick<Clock, "now"> }): LandOptions {
  return { operation: "INGEST", runId, now: clock.now(), fence };
}

/** Duration of a run so far, in milliseconds. Setting the machine's clock does not change it. */
export function elapsedMs({ clock, startedTicks }: Pick<RunContext, "clock" | "startedTicks">): number {
  return ticksOf(clock) - startedTicks;
}

/** By how many milliseconds the machine's clock was set during a run; undefined where it was not set. */
export function clockShiftMs(
  context: Pick<RunContext, "clock" | "startedAt" | "startedTicks">,
): number | undefined {
  const shift = Math.round(context.clock.now() - context.startedAt - elapsedMs(context));
  return Math.abs(shift) >= CLOCK_SET_MS ? shift : undefined;
}
