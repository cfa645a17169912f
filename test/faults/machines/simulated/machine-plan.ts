import { drawsOf } from "../../simulated-ingest/draws.js";
import type { Fault, FaultKind, Step } from "./virtual-process.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A machine that runs a schedule. */
export interface MachinePlan {
  readonly name: string;
  /** By how much its clock is ahead. */
  readonly aheadMs: number;
  /** When its first process starts, in milliseconds from the start of the simulation. */
  readonly startsAt: number;
  readonly pipelines: readonly string[];
}

export interface SchedulePlan {
  readonly rpm: number;
  readonly machines: readonly MachinePlan[];
  readonly faults: readonly Fault[];
}

/** The faults are over by then, as milliseconds from the start. */
export const CALM_AT = 8 * MINUTE_MS;
const LAST_FAULT_AT = 5 * MINUTE_MS;

const LENGTHS: Readonly<Record<FaultKind, readonly number[]>> = {
  // Until it starts again.
  kill: [1000, 20_000, 90_000],
  // Shorter than any lease, between two of them, and longer.
  stop: [8000, 20_000, 45_000, 65_000, 75_000, 100_000],
  "cut from store": [3000, 20_000, 45_000, 75_000, 100_000],
  "cut from service": [2000, 20_000, 60_000],
};
const KINDS = Object.keys(LENGTHS) as FaultKind[];
const DURING: readonly (Step | undefined)[] = [undefined, "store write", "store wrote", "asks", "receives"];

/** The plan of a seed: three machines, of which the first one leads both pipelines at first. */
export function planOf(seed: number): SchedulePlan {
  const draws = drawsOf(seed, "machines");
  const machines = ["one", "two", "three"].map((name, n) => ({
    name,
    aheadMs: draws.of([0, HOUR_MS, -HOUR_MS, 1234]),
    startsAt: n * 5000,
    pipelines: [["days", "minutes"], ["days"], ["minutes"]][n] as string[],
  }));
  const faults = Array.from({ length: 3 + draws.below(4) }, (): Fault => {
    const kind = draws.of(KINDS);
    return {
      machine: draws.of(machines).name,
      kind,
      at: 30_000 + draws.below(LAST_FAULT_AT - 30_000),
      ms: draws.of(LENGTHS[kind]),
      during: draws.of(DURING),
    };
  });
  return { rpm: draws.of([12, 18]), machines, faults };
}
