import type { DayShape } from "./day-shape.js";
import type { BarBounds, MinuteBuffer } from "./minute-buffer.js";

/**
 * Gives every bar an amount between volume x low and volume x high, so that the amounts add up exactly to the day's
 * amount.
 *
 * Where the ranges of the bars are too narrow for that, highs or lows are widened, step by step and never beyond the
 * extremes of the day: first those of ordinary bars, then of sealed ones, then of the auction's bar. This is always
 * sufficient, because the day's amount is between its volume x low and its volume x high.
 */
export function fitAmounts(day: DayShape, out: MinuteBuffer, bounds: BarBounds): void {
  const { high, low, volume, amount } = out;
  const { first, end } = bounds;
  let least = 0;
  let most = 0;
  for (let i = first; i < end; i++) {
    least += (low[i] as number) * (volume[i] as number);
    most += (high[i] as number) * (volume[i] as number);
  }
  if (day.amount > most) {
    most += widen(out, high, day.high, 1, day.amount - most, bounds);
  } else if (day.amount < least) {
    least -= widen(out, low, day.low, -1, least - day.amount, bounds);
  }
  const target = day.amount - least;
  const part = most > least ? target / (most - least) : 0;
  let capacity = 0;
  let given = 0;
  for (let i = first; i < end; i++) {
    const lots = volume[i] as number;
    const bottom = (low[i] as number) * lots;
    const slack = (high[i] as number) * lots - bottom;
    capacity += slack;
    const upTo = Math.min(target, Math.floor(part * capacity));
    const more = Math.min(slack, upTo - given);
    given += more;
    amount[i] = bottom + more;
  }
  // Because of rounding, the floor of the last product can be less than the whole amount.
  for (let i = first; given < target && i < end; i++) {
    const more = Math.min(
      target - given,
      (high[i] as number) * (volume[i] as number) - (amount[i] as number),
    );
    amount[i] = (amount[i] as number) + more;
    given += more;
  }
}

/**
 * Widens one side of the bars until this adds `missing`, or all bars are at `limit`. @returns the amount that was
 * added.
 */
function widen(
  out: MinuteBuffer,
  side: Int32Array,
  limit: number,
  sign: 1 | -1,
  missing: number,
  { first, priced, sealed, end }: BarBounds,
): number {
  let gained = 0;
  for (const [from, to] of [
    [priced, sealed],
    [sealed, end],
    [first, priced],
  ] as const) {
    for (let step = 1, moved = true; moved && gained < missing; step *= 2) {
      moved = false;
      for (let i = from; i < to && gained < missing; i++) {
        const lots = out.volume[i] as number;
        const price = side[i] as number;
        const reach = Math.min(step, (limit - price) * sign, Math.ceil((missing - gained) / (lots || 1)));
        if (lots === 0 || reach <= 0) continue;
        side[i] = price + sign * reach;
        gained += reach * lots;
        moved = true;
      }
    }
  }
  return gained;
}
