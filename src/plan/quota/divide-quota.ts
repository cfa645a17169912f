import { compareText } from "../../core/text-order.js";

/** A user of a key, and the largest fraction of the quota that it requests, above 0 and at most 1. */
interface Asker {
  readonly holder: string;
  readonly ask: number;
}

/**
 * Divides a quota among the users of a key into equal parts. A user gets no more than it requests; the others share the
 * remainder. Every user computes the same parts from the same list, in any order.
 *
 * @returns the fraction of each holder; the sum is at most 1.
 */
export function divideQuota(askers: readonly Asker[]): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  let rest = 1;
  for (const [index, { holder, ask }] of [...askers].sort(byAsk).entries()) {
    const part = Math.min(ask, rest / (askers.length - index));
    parts.set(holder, part);
    rest -= part;
  }
  return parts;
}

function byAsk(a: Asker, b: Asker): number {
  return a.ask - b.ask || compareText(a.holder, b.holder);
}
