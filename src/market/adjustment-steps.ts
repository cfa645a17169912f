import type { ExEvent } from "./ex-rule.js";
import type { Adjustment } from "./period.js";

/** A range of days whose prices are all adjusted by the same value. */
export interface AdjustmentStep {
  /** Days since 1970-01-01; the end is exclusive. */
  readonly start: number;
  readonly end: number;
  /** The number by which a price is divided (forward) or multiplied (backward), or which is added to it (additive). */
  readonly value: number;
}

const FIRST_DAY = -10_000_000;
const LAST_DAY = 10_000_000;

/**
 * Divides time at the ex-dates, which ascend. Forward adjustment of a day uses the events after it, backward adjustment
 * the events up to and including it. Days without adjustment have no step.
 */
export function adjustmentSteps(events: readonly ExEvent[], adjustment: Adjustment): AdjustmentStep[] {
  if (adjustment === "none" || events.length === 0) return [];
  const values = cumulated(events, adjustment);
  const neutral = adjustment === "forward" || adjustment === "backward" ? 1 : 0;
  const steps = values.map(
    (value, i): AdjustmentStep => ({
      start: events[i - 1]?.day ?? FIRST_DAY,
      end: events[i]?.day ?? LAST_DAY,
      value,
    }),
  );
  return steps.filter((step) => step.value !== neutral && step.end > step.start);
}

/** The value of each of the n + 1 ranges into which n events divide time. */
function cumulated(events: readonly ExEvent[], adjustment: Exclude<Adjustment, "none">): number[] {
  switch (adjustment) {
    case "backward":
      return running(
        events.map((event) => event.factor),
        1,
        (a, b) => a * b,
      );
    case "backward_additive":
      return running(
        events.map((event) => event.amount),
        0,
        (a, b) => a + b,
      );
    case "forward":
      return running(events.map((event) => event.factor).reverse(), 1, (a, b) => a * b).reverse();
    case "forward_additive":
      return running(events.map((event) => event.amount).reverse(), 0, (a, b) => a - b).reverse();
  }
}

function running(
  values: readonly number[],
  first: number,
  join: (sum: number, value: number) => number,
): number[] {
  const sums = [first];
  for (const value of values) sums.push(join(sums.at(-1) as number, value));
  return sums;
}
